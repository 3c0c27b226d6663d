"""Container events: how long after the end of a container its subscribers hear of it."""

from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.scenarios.event_latency import hearing

SUBSCRIBERS = {"smoke": (1,), "standard": (1, 5), "full": (1, 5)}


@scenario("B-22")
def test_delivery_of_events(bench: Bench) -> None:
    """From the end of a container, as its status tells it, until every subscriber has heard of it, by the
    number of subscribers.
    """
    numbers = SUBSCRIBERS[bench.profile]
    for number in numbers:
        workload = hearing(number)
        bench.sample(
            workload,
            headline="end to event",
            dimensions={"subscribers": str(number)},
            seconds=bench.seconds / len(numbers),
        )
