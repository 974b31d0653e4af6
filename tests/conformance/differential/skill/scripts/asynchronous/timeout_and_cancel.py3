import asyncio


async def slow():
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:
        print("cancelled")
        raise


async def main():
    try:
        async with asyncio.timeout(0.01):
            await slow()
    except TimeoutError as late:
        print(repr(late))
    task = asyncio.create_task(slow())
    await asyncio.sleep(0)
    task.cancel()
    print(await asyncio.gather(task, return_exceptions=True))


asyncio.run(main())
