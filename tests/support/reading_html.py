"""HTML as its reader sees it, and a name that would be markup if it were not escaped."""

from html.parser import HTMLParser

HOSTILE = "</td><script>alert('x')</script><img src=x onerror=\"alert(1)\">&amp;"


class Read(HTMLParser):
    """The text of some HTML, the tags in it and whether all of them are closed."""

    def __init__(self, text):
        super().__init__()
        self.text, self.tags, self.open = "", [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.open.append(tag)
        assert not [name for name, _ in attributes if name.startswith("on")]

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
