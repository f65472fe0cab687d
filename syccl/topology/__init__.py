"""What the machine is."""

from syccl.topology.model import Kind as Kind
from syccl.topology.model import Link as Link
from syccl.topology.model import Node as Node
from syccl.topology.model import Topology as Topology
from syccl.topology.parallel import merged as merged
from syccl.topology.routes import Route as Route
from syccl.topology.routes import default_route as default_route
from syccl.topology.routes import last_links as last_links
from syccl.topology.routes import routes_from as routes_from
