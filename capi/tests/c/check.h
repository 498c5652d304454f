/* What the C tests share: a configuration of their own, and a check that says where it failed. */
#ifndef CHECK_H
#define CHECK_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schwann.h"

/* Long enough for a busy machine under valgrind; a test that passes never waits for it. */
#define LONG 60.0

#define CHECK(condition)                                                                             \
	do {                                                                                         \
		if (!(condition)) {                                                                  \
			fprintf(stderr, "%s:%d: %s (last error: %s)\n", __FILE__, __LINE__, #condition, \
				lsl_last_error());                                                   \
			exit(1);                                                                     \
		}                                                                                    \
	} while (0)

/* Ports and a session of this test process alone, below the ports that the kernel gives out. */
static void configure(void) {
	char config[512];
	int base = 16640 + (int)(getpid() % 400) * 40;
	snprintf(config, sizeof config,
		"[log]\nlevel=-2\n[ports]\nMulticastPort=%d\nBasePort=%d\nIPv6=disable\n"
		"[multicast]\nResolveScope=machine\n[lab]\nSessionID=c-test-%d\n",
		base + 39, base, (int)getpid());
	lsl_set_config_content(config);
}

/* The one stream of this test process with that name. */
static lsl_streaminfo resolve(const char *name) {
	lsl_streaminfo found = NULL;
	CHECK(lsl_resolve_byprop(&found, 1, "name", name, 1, LONG) == 1);
	return found;
}

#endif
