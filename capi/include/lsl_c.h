#ifndef SCHWANN_LSL_C_H
#define SCHWANN_LSL_C_H
/* The C interface of the Lab Streaming Layer, version 1.18: everything. Link with -llsl.
 *
 * To send:    lsl_create_streaminfo, lsl_create_outlet, lsl_push_sample_f, lsl_destroy_outlet.
 * To receive: lsl_resolve_byprop, lsl_create_inlet, lsl_pull_sample_f, lsl_destroy_inlet.
 *
 * Seconds are doubles throughout. A timeout of 0 or less does not wait. LSL_FOREVER waits without limit. No function waits
 * longer than it was told to. A stamp is a sample's time on the clock of its sender (lsl_local_clock there).
 *
 * Handles: the caller gives back each handle that a function named `create`, `copy`, `resolve` or `get_..info` returned. Every
 * function accepts NULL for a handle: it does nothing, or reports lsl_argument_error.
 *
 * schwann.h has what Schwann can tell beyond this interface; lsl_cpp.h is the same interface for C++. */
#include "lsl/common.h"
#include "lsl/types.h"

#include "lsl/inlet.h"
#include "lsl/outlet.h"
#include "lsl/resolver.h"
#include "lsl/streaminfo.h"
#include "lsl/xml.h"

#endif
