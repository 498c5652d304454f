#ifndef SCHWANN_LSL_C_H
#define SCHWANN_LSL_C_H
/* The C interface of the Lab Streaming Layer.
 *
 * Part of Schwann's implementation of the liblsl C interface, version 1.18. */
#include "lsl/types.h"
#include "lsl/common.h"
#include "lsl/streaminfo.h"
#include "lsl/outlet.h"
#include "lsl/inlet.h"
#include "lsl/resolver.h"
#include "lsl/xml.h"
#ifdef __cplusplus
extern "C" {
#endif


#ifdef __cplusplus
}
#endif

#endif
