"""A cached value is computed once, keeps nothing waiting, and is the instance's own."""

from threading import Event, Thread

from recall_signal._fork_safe import cached_value


class Page:
    def __init__(self, name: str, may_go_on: Event | None = None) -> None:
        self.name, self.may_go_on, self.times = name, may_go_on, 0
        self.began = Event()

    @cached_value
    def title(self) -> str:
        """The name in capitals."""
        self.times += 1
        self.began.set()
        if self.may_go_on is not None:
            assert self.may_go_on.wait(20)
        return self.name.upper()


def test_it_is_computed_once_for_each_instance() -> None:
    one, other = Page("one"), Page("other")
    assert (one.title, one.title, other.title) == ("ONE", "ONE", "OTHER")
    assert (one.times, other.times) == (1, 1)


def test_one_instance_does_not_hold_up_another() -> None:
    go_on = Event()
    slow = Page("slow", go_on)
    thread = Thread(target=lambda: slow.title)
    thread.start()
    try:
        assert slow.began.wait(20)
        assert Page("fast").title == "FAST"
    finally:
        go_on.set()
        thread.join()
    assert slow.title == "SLOW"


def test_the_class_has_its_description() -> None:
    assert Page.title.__doc__ == "The name in capitals."
