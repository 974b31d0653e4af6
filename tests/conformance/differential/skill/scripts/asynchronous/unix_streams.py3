import asyncio
import os
from pathlib import Path


async def answer(reader, writer):
    writer.write((await reader.readline()).upper())
    await writer.drain()
    writer.close()


async def main():
    os.chdir(os.environ["TMPDIR"])  # the path of a unix socket must be short
    async with await asyncio.start_unix_server(answer, "answers"):
        reader, writer = await asyncio.open_unix_connection("answers")
        writer.write(b"hello\n")
        print(await reader.read(), Path("answers").is_socket())
        writer.close()


asyncio.run(main())
