"""The soft taints of OpenShift's soft tainter: their keys and their effect."""

from typing import Final

PREFIX = "nodeutilization.descheduler.openshift.io"
OVER, APPROPRIATE = f"{PREFIX}/overutilized", f"{PREFIX}/appropriate"
KEYS = frozenset((OVER, APPROPRIATE))
EFFECT: Final = "PreferNoSchedule"
