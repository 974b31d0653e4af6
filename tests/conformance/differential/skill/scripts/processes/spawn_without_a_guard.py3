import multiprocessing as mp


def work():
    print("worked")


mp.set_start_method("spawn")
process = mp.Process(target=work)
process.start()
process.join()
print(process.exitcode)
