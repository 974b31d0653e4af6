import asyncio


async def fails(number):
    await asyncio.sleep(0)
    raise ValueError(number)


async def main():
    async with asyncio.TaskGroup() as group:
        group.create_task(fails(1))
        group.create_task(fails(2))


try:
    asyncio.run(main())
except* ValueError as group:
    print(sorted(str(wrong) for wrong in group.exceptions))
