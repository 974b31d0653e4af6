import runpy
import sys
if __name__ == "__main__":
    print(runpy.run_path(__file__, run_name="again")["value"], sys.argv[0] == __file__)
value = f"as {__name__}"
