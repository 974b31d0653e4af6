from json import dumpz
