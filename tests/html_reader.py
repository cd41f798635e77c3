"""Pages as browsers read them: well-formed or not, and their links and words."""

from html.parser import HTMLParser

VOID = {"meta", "br", "link", "hr", "img"}


class Reader(HTMLParser):
    """Fails on unbalanced tags; collects links and text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.links, self.text = [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.links += [value for key, value in attrs if key in ("href", "src") and not value.startswith("#")]
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
