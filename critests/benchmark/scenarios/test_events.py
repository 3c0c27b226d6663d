"""Container events: time from the exit of a container until its subscribers receive the event."""

from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.scenarios.event_latency import event_delivery

SUBSCRIBERS = {"smoke": (1,), "standard": (1, 5), "full": (1, 5)}


@scenario("B-22")
def test_delivery_of_events(bench: Bench) -> None:
    """Time from `finished_at` of a container until every subscriber has received the event, by the number of
    subscribers.
    """
    numbers = SUBSCRIBERS[bench.profile]
    for number in numbers:
        workload = event_delivery(number)
        bench.sample(
            workload,
            headline="end to event",
            dimensions={"subscribers": str(number)},
            seconds=bench.seconds / len(numbers),
        )
