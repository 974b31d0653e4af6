import asyncio
import sys


async def main():
    code = "import sys; print(sys.stdin.read().upper()); sys.exit(3)"
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdin=pipe, stdout=pipe)
    out, _ = await process.communicate(b"text")
    print(out, process.returncode)


asyncio.run(main())
