import decimal
from decimal import Decimal
print(decimal.getcontext())
with decimal.localcontext() as context:
    context.prec = 50
    print(Decimal(2).sqrt(), Decimal("1e3").normalize(), Decimal("0.1") + Decimal("0.2"))
decimal.getcontext().traps[decimal.Inexact] = True
Decimal(1) / 3
