import warnings
warnings.warn("shown in __main__ only", DeprecationWarning)
warnings.warn("never shown", PendingDeprecationWarning)
print("\d" == "\\d")
