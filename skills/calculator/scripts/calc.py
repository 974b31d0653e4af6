"""Evaluate an arithmetic expression exactly: fractions inside, so 0.1 + 0.2 is 0.3. Never runs code."""

import argparse
import ast
import json
import math
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, DecimalException, localcontext
from fractions import Fraction

MAX_LENGTH = 1000
MAX_DIGITS = 4000
"""Of a numerator or denominator; a larger number is refused before it is computed, so nothing hangs."""
MAX_BITS = int(MAX_DIGITS * math.log2(10))
MAX_COUNT = 1000
"""Largest argument of factorial, comb and perm."""
WORKING_DIGITS = 50


class CalcError(ValueError):
    """The expression cannot be evaluated; the message says why, in one line."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`exact` is False once a root, logarithm, trigonometric function or pi has been rounded."""

    value: Fraction
    exact: bool

    def text(self, digits: int = 15) -> str:
        """The number in full where it is exact and its decimals end, else rounded to `digits` significant digits."""
        if self.exact and _decimals_end(self.value.denominator):
            return format(_decimal(self.value, 2 * MAX_BITS), "f")
        text = str(_decimal(self.value, digits))
        return text.rstrip("0").rstrip(".") if "." in text and "E" not in text else text


def evaluate(expression: str) -> Answer:
    """
    Raises:
        CalcError: not arithmetic, undefined (1 / 0, sqrt(-1)) or too large.
    """
    source = expression.strip()
    if len(source) > MAX_LENGTH:
        raise CalcError(f"expression is longer than {MAX_LENGTH} characters")
    evaluator = _Evaluator(source)
    try:
        return Answer(evaluator.value(_parse(source)), evaluator.exact)
    except RecursionError:
        raise CalcError("expression is nested too deeply") from None
    except ZeroDivisionError:
        raise CalcError("division by zero") from None


def _parse(source: str) -> ast.expr:
    try:
        return ast.parse(source, mode="eval").body
    except MemoryError:
        raise CalcError("expression is nested too deeply") from None
    except (SyntaxError, ValueError) as error:
        raise CalcError(f"not an expression: {getattr(error, 'msg', error)}") from None


class _Evaluator:
    def __init__(self, source: str) -> None:
        self.source = source
        self.exact = True

    def value(self, node: ast.expr) -> Fraction:
        match node:
            case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
                return _literal(ast.get_source_segment(self.source, node) or "")
            case ast.Name(id=name) if name in CONSTANTS:
                self.exact = False
                return CONSTANTS[name]
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                operand = self.value(node.operand)
                return -operand if isinstance(node.op, ast.USub) else operand
            case ast.BinOp(op=ast.Pow()):
                return self.power(self.value(node.left), self.value(node.right))
            case ast.BinOp() if type(node.op) in OPERATORS:
                return _bounded(Fraction(OPERATORS[type(node.op)](self.value(node.left), self.value(node.right))))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self.call(name, [self.value(argument) for argument in args])
        raise CalcError(_not_supported(node, self.source))

    def power(self, base: Fraction, exponent: Fraction) -> Fraction:
        if exponent.denominator == 1:
            bits = max(base.numerator.bit_length(), base.denominator.bit_length())
            if base not in (0, 1, -1) and (bits - 1) * abs(exponent) > MAX_BITS:
                raise CalcError(f"result of ** has more than {MAX_DIGITS} digits")
            return _bounded(Fraction(base) ** int(exponent))
        if base < 0:
            raise CalcError("a negative number has no real power with a fractional exponent")
        return self.rounded(lambda b, e: b**e, base, exponent)

    def call(self, name: str, arguments: list[Fraction]) -> Fraction:
        try:
            if name == "sqrt" and len(arguments) == 1 and (root := _exact_root(arguments[0])) is not None:
                return root
            if name in EXACT:
                return _bounded(Fraction(EXACT[name](*arguments)))
            if name in ROUNDED:
                return self.rounded(ROUNDED[name], *arguments)
        except TypeError:
            raise CalcError(f"wrong number of arguments for {name}()") from None
        raise CalcError(f"unknown function {name}(); known: {', '.join(sorted(EXACT | ROUNDED))}")

    def rounded(self, function: Callable[..., Decimal | float], *arguments: Fraction) -> Fraction:
        self.exact = False
        try:
            with localcontext(prec=WORKING_DIGITS):
                result = Decimal(function(*(_decimal(a, WORKING_DIGITS) for a in arguments)))
        except (DecimalException, OverflowError, ValueError):
            raise CalcError("no real result, or too large") from None
        return _exactly(result)


def _not_supported(node: ast.expr, source: str) -> str:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor):
        return "use ** for powers, not ^"
    if isinstance(node, ast.Name):
        return f"unknown name {node.id!r}; known: {', '.join(CONSTANTS)}"
    return f"not arithmetic: {ast.get_source_segment(source, node)}"


def _literal(text: str) -> Fraction:
    return Fraction(int(text, 0)) if text[:2].lower() in ("0x", "0o", "0b") else _exactly(Decimal(text))


def _exactly(number: Decimal) -> Fraction:
    """The size is looked at first: the fraction of 1e999999999 would fill the memory."""
    if not number.is_finite() or abs(number.adjusted()) > MAX_DIGITS:
        raise CalcError(f"a number has more than {MAX_DIGITS} digits")
    return _bounded(Fraction(number))


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise CalcError(f"a number has more than {MAX_DIGITS} digits")
    return value


def _decimal(value: Fraction, digits: int) -> Decimal:
    with localcontext(prec=digits):
        return Decimal(value.numerator) / Decimal(value.denominator)


def _decimals_end(denominator: int) -> bool:
    for factor in (2, 5):
        while denominator % factor == 0:
            denominator //= factor
    return denominator == 1


def _exact_root(value: Fraction) -> Fraction | None:
    if value < 0:
        raise CalcError("a negative number has no real square root")
    root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
    return root if root * root == value else None


def _whole(value: Fraction) -> int:
    if value.denominator != 1:
        raise CalcError("a whole number is needed here")
    return int(value)


def _count(value: Fraction) -> int:
    if not 0 <= value <= MAX_COUNT:
        raise CalcError(f"a whole number from 0 to {MAX_COUNT} is needed here")
    return _whole(value)


def _round(value: Fraction, digits: Fraction = Fraction(0)) -> Fraction:
    """Halves go to the even neighbour."""
    if abs(digits) > WORKING_DIGITS:
        raise CalcError(f"round() takes at most {WORKING_DIGITS} digits")
    return round(value, _whole(digits))


OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction | int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
EXACT: dict[str, Callable[..., Fraction | int]] = {
    "abs": abs,
    "ceil": math.ceil,
    "comb": lambda n, k: math.comb(_count(n), _count(k)),
    "factorial": lambda n: math.factorial(_count(n)),
    "floor": math.floor,
    "gcd": lambda *numbers: math.gcd(*map(_whole, numbers)),
    "lcm": lambda *numbers: math.lcm(*map(_whole, numbers)),
    "max": lambda first, *rest: max((first, *rest)),
    "min": lambda first, *rest: min((first, *rest)),
    "perm": lambda n, k: math.perm(_count(n), _count(k)),
    "round": _round,
    "sum": lambda *numbers: sum(numbers, Fraction(0)),
}
ROUNDED: dict[str, Callable[..., Decimal | float]] = {
    "sqrt": Decimal.sqrt,
    "exp": Decimal.exp,
    "ln": Decimal.ln,
    "log10": Decimal.log10,
    "log": lambda number, base: number.ln() / base.ln(),
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "radians": math.radians,
    "degrees": math.degrees,
}
CONSTANTS = {
    "pi": Fraction("3.1415926535897932384626433832795028841971693993751"),
    "e": Fraction("2.7182818284590452353602874713526624977572470936999"),
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("expression", help="such as '2 * (0.1 + 0.2) ** 3'; put -- before a leading minus")
    parser.add_argument("--digits", type=int, default=15, help="significant digits where the result is rounded")
    parser.add_argument("--json", action="store_true", help="value, fraction and whether it is exact")
    options = parser.parse_args(arguments)
    try:
        answer = evaluate(options.expression)
    except CalcError as error:
        print(f"calc: {error}", file=sys.stderr)
        return 1
    value = answer.text(min(max(options.digits, 1), WORKING_DIGITS))
    details = {"value": value, "fraction": str(answer.value), "exact": answer.exact}
    print(json.dumps(details) if options.json else value)
    return 0


if __name__ == "__main__":
    sys.exit(main())
