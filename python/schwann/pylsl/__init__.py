"""The API of pylsl 1.18.6 on Schwann's engine: `import schwann.pylsl as pylsl`.

Programs written for pylsl run on it, without pylsl and without its library. Where the two differ, `docs/guide/src/python-pylsl.md`
says so.
"""

from .info import StreamInfo as StreamInfo
from .inlet import StreamInlet as StreamInlet
from .lib import cf_double64 as cf_double64
from .lib import cf_float32 as cf_float32
from .lib import cf_int8 as cf_int8
from .lib import cf_int16 as cf_int16
from .lib import cf_int32 as cf_int32
from .lib import cf_int64 as cf_int64
from .lib import cf_string as cf_string
from .lib import cf_undefined as cf_undefined
from .outlet import StreamOutlet as StreamOutlet
from .resolve import ContinuousResolver as ContinuousResolver
from .resolve import resolve_bypred as resolve_bypred
from .resolve import resolve_byprop as resolve_byprop
from .resolve import resolve_streams as resolve_streams
from .util import FOREVER as FOREVER
from .util import IRREGULAR_RATE as IRREGULAR_RATE
from .util import MIN_LIBLSL_VERSION as MIN_LIBLSL_VERSION
from .util import library_info as library_info
from .util import library_version as library_version
from .util import local_clock as local_clock
from .util import proc_ALL as proc_ALL
from .util import proc_clocksync as proc_clocksync
from .util import proc_dejitter as proc_dejitter
from .util import proc_monotonize as proc_monotonize
from .util import proc_none as proc_none
from .util import proc_threadsafe as proc_threadsafe
from .util import protocol_version as protocol_version
from .util import set_config_content as set_config_content
from .util import set_config_filename as set_config_filename
from .util import transp_bufsize_samples as transp_bufsize_samples
from .util import transp_bufsize_thousandths as transp_bufsize_thousandths
from .util import transp_default as transp_default
from .util import transp_sync_blocking as transp_sync_blocking

__version__ = "1.18.6"
