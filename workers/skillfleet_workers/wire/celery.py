"""The Celery application of a fleet, configured alike on both sides."""

from celery import Celery
from kombu import Queue

from . import keys
from .connection import FleetSettings, RedisUrls
from .contract import CallMessage
from .shown import readable_arguments
from .transport import use_ours

VISIBILITY_TIMEOUT_S = 6 * 3600
"""Well above the longest call: recovery is the ledger's, and a second live copy is never wanted."""

LONE_READ_S = 0.1


def make_celery(settings: FleetSettings, *, queue: str = "", sends_only: bool = False) -> Celery:
    """JSON only. Messages are not acknowledged: the ledger, not the broker, brings lost calls back.

    `sends_only`: for who never reads a result; a sender would open a result consumer for every call.
    """
    use_ours()
    urls = RedisUrls.of(settings)
    backend = "disabled://" if sends_only else urls.results
    app = Celery("skillfleet", broker=urls.broker, backend=backend, set_as_current=False)
    reach = urls.address.celery_settings
    transport = reach["broker_transport_options"]
    transport["visibility_timeout"] = VISIBILITY_TIMEOUT_S
    if queue:
        # kombu waits for its last blocking read before it closes: a lone fleet's end must not take that second.
        transport["polling_interval"] = LONE_READ_S
    name = queue or keys.task_queue(settings.fleet)
    app.conf.update(
        accept_content=["json"],
        result_accept_content=["json"],
        task_serializer="json",
        result_serializer="json",
        result_backend_thread_safe=True,
        result_expires=settings.result_ttl_hours * 3600,
        **reach,
        broker_connection_retry_on_startup=True,
        task_default_queue=name,
        task_queues=[celery_queue(name)],
        task_send_sent_event=False,
        task_track_started=False,
        worker_send_task_events=True,
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=True,
        worker_redirect_stdouts=False,
        worker_hijack_root_logger=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_enable_remote_control=True,
    )
    return app


def celery_queue(name: str) -> Queue:
    """Of calls. It is not declared, for the default exchange binds all: so a route leaves nothing in redis."""
    return Queue(name, no_ack=True, no_declare=True)


def send_call(app: Celery, task: str, message: CallMessage, route: str = "") -> None:
    """Send a call as a hint: losing it, or sending it twice, harms nothing. Flower shows the short arguments.
    `route`: the workers that it is for, empty: all.

    Raises:
        kombu.exceptions.OperationalError: the broker cannot be reached.
    """
    app.send_task(
        task,
        args=[message.model_dump(mode="json")],
        task_id=message.ref.task_id,
        queue=celery_queue(keys.route_queue(app.conf.task_default_queue, route)),  # type: ignore[arg-type]
        argsrepr=readable_arguments(message.request),
        kwargsrepr="{}",
        declare=(),  # to the default exchange, whose queues need no binding: looking costs more than the message
        retry=False,
    )
