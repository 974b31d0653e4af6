import html
import urllib.parse
import xml.etree.ElementTree as ET
from html.parser import HTMLParser


class Links(HTMLParser):
    def handle_starttag(self, tag, attrs):
        print(tag, attrs)


Links().feed('<a href="x?a=1&amp;b=2">text</a>')
print(html.escape("<&>"), urllib.parse.urlsplit("http://u@h:80/p?q=1#f"), urllib.parse.quote("a b/ä"))
tree = ET.fromstring("<r><a n='1'>t</a></r>")
print(ET.tostring(tree), tree.find("a").attrib)
ET.fromstring("<r>")
