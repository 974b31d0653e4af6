import copy
import dataclasses
import enum


class Colour(enum.StrEnum):
    RED = enum.auto()


class Right(enum.Flag):
    READ = 1
    WRITE = 2


@dataclasses.dataclass(frozen=True, order=True, slots=True)
class Car:
    colour: Colour
    doors: int = 4
    tags: list = dataclasses.field(default_factory=list, compare=False)


car = Car(Colour.RED)
print(car, dataclasses.asdict(car), dataclasses.replace(car, doors=2) < car, Right(3), copy.deepcopy(car) == car)
car.doors = 5
