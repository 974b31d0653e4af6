import site
import sys
print(site.ENABLE_USER_SITE, sys.flags.no_site, [p for p in site.getsitepackages() if p not in sys.path])
print("sitecustomize" in sys.modules, "usercustomize" in sys.modules, quit, copyright.__class__.__name__)
