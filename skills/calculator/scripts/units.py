"""Convert a quantity from one unit to another, exactly: length, area, volume, mass, time, speed, data, energy,
pressure, angle and temperature."""

import argparse
import sys
from dataclasses import dataclass
from fractions import Fraction


class UnitError(ValueError):
    """The quantity cannot be converted; the message says why, in one line."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A value in this unit times `factor`, plus `offset`, is the value in the dimension's base unit."""

    dimension: str
    factor: Fraction
    offset: Fraction = Fraction(0)


FACTORS: dict[str, dict[str, str]] = {
    "length": {
        "nm": "1e-9", "um": "1e-6", "mm": "0.001", "cm": "0.01", "m": "1", "km": "1000",
        "in": "0.0254", "ft": "0.3048", "yd": "0.9144", "mi": "1609.344", "nmi": "1852",
    },
    "area": {
        "mm2": "1e-6", "cm2": "0.0001", "m2": "1", "ha": "10000", "km2": "1000000",
        "in2": "0.00064516", "ft2": "0.09290304", "acre": "4046.8564224", "mi2": "2589988.110336",
    },
    "volume": {
        "ml": "0.001", "cl": "0.01", "dl": "0.1", "l": "1", "m3": "1000",
        "tsp": "0.00492892159375", "tbsp": "0.01478676478125", "floz": "0.0295735295625",
        "cup": "0.2365882365", "pt": "0.473176473", "qt": "0.946352946", "gal": "3.785411784",
    },
    "mass": {
        "ug": "1e-9", "mg": "1e-6", "g": "0.001", "kg": "1", "t": "1000",
        "oz": "0.028349523125", "lb": "0.45359237", "st": "6.35029318",
    },
    "time": {
        "ns": "1e-9", "us": "1e-6", "ms": "0.001", "s": "1", "min": "60", "h": "3600", "d": "86400", "week": "604800",
    },
    "speed": {"m/s": "1", "km/h": "5/18", "mph": "0.44704", "kn": "463/900", "ft/s": "0.3048"},
    "data": {
        "bit": "1/8", "B": "1", "kB": "1000", "MB": "1e6", "GB": "1e9", "TB": "1e12",
        "KiB": "1024", "MiB": "1048576", "GiB": "1073741824", "TiB": "1099511627776",
    },
    "energy": {"J": "1", "kJ": "1000", "cal": "4.184", "kcal": "4184", "Wh": "3600", "kWh": "3600000"},
    "pressure": {"Pa": "1", "hPa": "100", "kPa": "1000", "bar": "100000", "atm": "101325"},
    "angle": {"arcsec": "1/3600", "arcmin": "1/60", "deg": "1", "turn": "360"},
}  # fmt: skip
"""Of each unit in its dimension's base unit. Exact by definition; gallons, pints and cups are those of the US."""

UNITS = {
    name: Unit(dimension, Fraction(factor)) for dimension, units in FACTORS.items() for name, factor in units.items()
} | {
    "K": Unit("temperature", Fraction(1)),
    "C": Unit("temperature", Fraction(1), Fraction("273.15")),
    "F": Unit("temperature", Fraction(5, 9), Fraction("459.67") * Fraction(5, 9)),
}


def convert(value: str | int | float | Fraction, source: str, target: str) -> Fraction:
    """Floats count as they are written: 0.1 is one tenth.

    Raises:
        UnitError: not a number, an unknown unit, or units of two dimensions.
    """
    there, here = _unit(source), _unit(target)
    if there.dimension != here.dimension:
        raise UnitError(f"{source} is {there.dimension}, {target} is {here.dimension}")
    try:
        number = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise UnitError(f"not a number: {value}") from None
    return (number * there.factor + there.offset - here.offset) / here.factor


def _unit(name: str) -> Unit:
    if name not in UNITS:
        raise UnitError(f"unknown unit {name}; known: {' '.join(UNITS)}")
    return UNITS[name]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("value")
    parser.add_argument("source", help="unit of the value; case matters")
    parser.add_argument("target", help="unit to convert to")
    options = parser.parse_args(arguments)
    try:
        result = convert(options.value, options.source, options.target)
    except UnitError as error:
        print(f"units: {error}", file=sys.stderr)
        return 1
    print(f"{float(result):.12g} {options.target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
