"""Topologies from files of other tools: each importer is liberal in what it reads and says what is not certain."""

from syccl.topology.importers.detect import KINDS as KINDS
from syccl.topology.importers.detect import import_text as import_text
from syccl.topology.importers.detect import kind_of as kind_of
from syccl.topology.importers.draft import Assumed as Assumed
from syccl.topology.importers.draft import Imported as Imported
from syccl.topology.importers.draft import Note as Note
from syccl.topology.importers.draft import Port as Port
