"""What writes to a cache from several processes at once, which import this module by its name."""

from compiler.cache import Cache


def write_many(folder, first, seen):
    """Put and get contents by turns; `seen` hears of each that was got whether it was whole, or gone."""
    cache = Cache.open(folder, 3000)
    for round_ in range(60):
        key = str((first + round_) % 20)
        cache.put(key, key.encode() * 100)
        content = cache.get(key)
        seen.append(content is None or content == key.encode() * 100)


def write_many_alone(folder, first):
    """The same in a process of its own, which ends with 1 if something got was not whole."""
    seen = []
    write_many(folder, first, seen)
    raise SystemExit(0 if all(seen) else 1)
