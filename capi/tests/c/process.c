/* What a process does to its streams: forks, programs that it starts, and a want of descriptors. */
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static lsl_outlet outlet;
static lsl_inlet inlet;

static lsl_outlet serve(const char *name) {
	lsl_streaminfo info = lsl_create_streaminfo(name, "Test", 1, 0.0, cft_int32, name);
	lsl_outlet made = lsl_create_outlet(info, 0, 360);
	lsl_destroy_streaminfo(info);
	return made;
}

static lsl_inlet receive(const char *name) {
	int32_t error = 1;
	lsl_streaminfo found = resolve(name);
	lsl_inlet made = lsl_create_inlet(found, 360, 0, 1);
	CHECK(made);
	lsl_destroy_streaminfo(found);
	lsl_open_stream(made, LONG, &error);
	CHECK(error == 0);
	return made;
}

static void open_pair(const char *name) {
	outlet = serve(name);
	CHECK(outlet);
	inlet = receive(name);
}

static void close_pair(void) {
	lsl_destroy_outlet(outlet);
	lsl_destroy_inlet(inlet);
}

static void expect_next(int32_t wanted) {
	int32_t value = -1, error = 1;
	CHECK(lsl_pull_sample_i(inlet, &value, 1, LONG, &error) != 0.0 && error == 0);
	CHECK(value == wanted);
}

/* In a storm the oldest samples may be dropped; what comes is whole and in order all the same. */
static int32_t expect_later(int32_t earlier) {
	int32_t value = -1, error = 1;
	CHECK(lsl_pull_sample_i(inlet, &value, 1, LONG, &error) != 0.0 && error == 0);
	CHECK(value > earlier);
	return value;
}

/* Waits for a child that has no more than a minute. */
static void expect_success(pid_t child) {
	int status = 0;
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* What a child may try with its inheritance: all is refused at once, regardless of what the parent's threads
 * held. */
static void child_tries_everything(void) {
	int32_t value = 666, error = 0;
	alarm((unsigned)LONG);
	CHECK(lsl_push_sample_i(outlet, &value) == lsl_internal_error);
	CHECK(strstr(lsl_last_error(), "after the fork"));
	CHECK(lsl_push_chunk_i(outlet, &value, 1) == lsl_internal_error);
	CHECK(schwann_outlet_flush(outlet, LONG) == lsl_internal_error);
	CHECK(lsl_have_consumers(outlet) == 0 && lsl_wait_for_consumers(outlet, LONG) == 0);
	CHECK(lsl_pull_sample_i(inlet, &value, 1, LONG, &error) == 0.0 && error == lsl_internal_error);
	CHECK(lsl_pull_chunk_i(inlet, &value, NULL, 1, 0, LONG, &error) == 0 && error == lsl_internal_error);
	lsl_open_stream(inlet, LONG, &error);
	CHECK(error == lsl_internal_error);
	CHECK(lsl_get_fullinfo(inlet, LONG, &error) == NULL && error == lsl_internal_error);
	lsl_time_correction(inlet, LONG, &error);
	CHECK(error == lsl_internal_error);
	CHECK(lsl_samples_available(inlet) == 0 && lsl_inlet_flush(inlet) == 0);
	lsl_close_stream(inlet);
	close_pair();
}

static void a_child_leaves_the_parents_streams_alone(void) {
	open_pair("fork");
	int32_t value = 1;
	CHECK(lsl_push_sample_i(outlet, &value) == 0);
	pid_t child = fork();
	if (child == 0) {
		child_tries_everything();
		/* Streams of its own work. */
		open_pair("fork-child");
		value = 7;
		CHECK(lsl_push_sample_i(outlet, &value) == 0);
		expect_next(7);
		close_pair();
		_exit(0);
	}
	CHECK(child > 0);
	expect_success(child);
	for (value = 2; value < 100; value++) CHECK(lsl_push_sample_i(outlet, &value) == 0);
	for (value = 1; value < 100; value++) expect_next(value);
	CHECK(lsl_have_consumers(outlet) == 1);
	close_pair();
}

/* A child that the C library does not hear of: no handler runs in it, and the noted number is its parent's. */
static pid_t clone_unheard(void) {
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void a_clone_that_nobody_noted_leaves_them_alone_too(void) {
	open_pair("clone");
	int32_t value = 1;
	CHECK(lsl_push_sample_i(outlet, &value) == 0);
	pid_t child = clone_unheard();
	if (child == 0) {
		pid_t grandchild = clone_unheard();
		child_tries_everything();
		if (grandchild != 0) expect_success(grandchild);
		_exit(0);
	}
	CHECK(child > 0);
	expect_success(child);
	/* A child that shares the memory for a while does not make a stranger of its parent. */
	child = vfork();
	if (child == 0) _exit(0);
	expect_success(child);
	for (value = 2; value < 100; value++) CHECK(lsl_push_sample_i(outlet, &value) == 0);
	for (value = 1; value < 100; value++) expect_next(value);
	CHECK(lsl_have_consumers(outlet) == 1);
	close_pair();
}

static volatile int storm_ends;

static void *storm(void *unused) {
	(void)unused;
	for (int32_t value = 0; !storm_ends; value++) {
		CHECK(lsl_push_sample_i(outlet, &value) == 0);
		if (value % 64 == 0) usleep(500); /* valgrind runs one thread at a time, and this one keeps the others out */
	}
	return NULL;
}

/* The child is made while other threads hold locks and are inside system calls. */
static void forks_in_a_storm_of_pushes_hang_and_corrupt_nothing(void) {
	open_pair("storm");
	pthread_t pusher;
	CHECK(pthread_create(&pusher, NULL, storm, NULL) == 0);
	int32_t latest = -1;
	for (int round = 0; round < 20; round++) {
		pid_t child = fork();
		if (child == 0) {
			child_tries_everything();
			_exit(0);
		}
		CHECK(child > 0);
		for (int count = 0; count < 50; count++) latest = expect_later(latest);
		expect_success(child);
	}
	storm_ends = 1;
	CHECK(pthread_join(pusher, NULL) == 0);
	close_pair();
}

static int descriptors(void) {
	int count = 0;
	DIR *folder = opendir("/proc/self/fd");
	CHECK(folder);
	while (readdir(folder)) count++;
	closedir(folder);
	return count;
}

static void programs_that_are_started_inherit_no_socket(void) {
	/* What this program has from its own parent is not meant. */
	for (int descriptor = 3; descriptor < 256; descriptor++) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
	open_pair("exec");
	FILE *shell = popen("ls -l /proc/$$/fd", "r");
	CHECK(shell);
	char line[512];
	while (fgets(line, sizeof line, shell)) CHECK(!strstr(line, "socket:") && !strstr(line, "eventpoll"));
	CHECK(pclose(shell) == 0);
	close_pair();
}

/* Takes all descriptors, at most 256, also those that a background thread was just giving back. Returns how
 * many. */
static int take_all(int *taken) {
	int count = 0, earlier = -1;
	while (count != earlier) {
		earlier = count;
		while (count < 256 && (taken[count] = dup(0)) >= 0) count++;
		CHECK(count < 256 && errno == EMFILE);
		usleep(100 * 1000);
	}
	return count;
}

static void give_back(int *taken, int count) {
	for (int k = 0; k < count; k++) close(taken[k]);
}

static void a_want_of_descriptors_is_survived(void) {
	int taken[256];
	struct rlimit before, limit;
	CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
	outlet = serve("scarce");
	CHECK(outlet);
	lsl_streaminfo found = resolve("scarce");
	inlet = lsl_create_inlet(found, 360, 0, 1);
	CHECK(inlet);
	limit = before;
	limit.rlim_cur = (rlim_t)descriptors() + 60;
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);

	/* None at all: no outlet, no connection, no search, and each says so. */
	int count = take_all(taken);
	CHECK(serve("scarcer") == NULL && strstr(lsl_last_error(), "refused"));
	int32_t error = 0, value = 5;
	lsl_open_stream(inlet, 0.5, &error);
	CHECK(error == lsl_timeout_error);
	lsl_streaminfo nothing = NULL;
	CHECK(lsl_resolve_byprop(&nothing, 1, "name", "scarce", 1, 0.2) <= 0);
	CHECK(lsl_push_sample_i(outlet, &value) == 0);

	/* One: the inlet connects, and the outlet cannot let it in yet. */
	close(taken[--count]);
	lsl_open_stream(inlet, 0.5, &error);
	CHECK(error == lsl_timeout_error);
	give_back(taken, count);

	/* Enough again: everything goes on by itself. */
	lsl_open_stream(inlet, LONG, &error);
	CHECK(error == 0);
	CHECK(lsl_push_sample_i(outlet, &value) == 0);
	expect_next(5);
	CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
	lsl_destroy_streaminfo(found);
	close_pair();
}

int main(void) {
	configure();
	a_child_leaves_the_parents_streams_alone();
	a_clone_that_nobody_noted_leaves_them_alone_too();
	forks_in_a_storm_of_pushes_hang_and_corrupt_nothing();
	programs_that_are_started_inherit_no_socket();
	a_want_of_descriptors_is_survived();
	puts("process: ok");
	return 0;
}
