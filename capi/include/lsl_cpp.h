#ifndef SCHWANN_LSL_CPP_H
#define SCHWANN_LSL_CPP_H
/** The C++ interface of the Lab Streaming Layer, version 1.18: header files only, C++11 and later. Link with -llsl.
 *
 * To send:    stream_info, stream_outlet, push_sample.
 * To receive: resolve_stream, stream_inlet, pull_sample.
 *
 * It has every class and function of the original's lsl_cpp.h, with the same signatures. Seconds are doubles. A timeout of 0 or
 * less does not wait; FOREVER waits without limit. A stamp is a sample's time on the clock of its sender (local_clock() there).
 *
 * Errors are exceptions: timeout_error, lost_error, std::invalid_argument, std::runtime_error. This includes refused pushes
 * and inlets that the library cannot make; the original says nothing of these.
 *
 * Any thread may use an outlet, an inlet or a continuous_resolver; only moving it needs a thread of its own. */
#include "lsl/cpp/common.h"

#include "lsl/cpp/inlet.h"
#include "lsl/cpp/outlet.h"
#include "lsl/cpp/resolver.h"
#include "lsl/cpp/streaminfo.h"
#include "lsl/cpp/xml.h"

#endif
