/* Descriptions, their trees, errors, resolvers, and handles that are given back in any order. */
#include <pthread.h>

#include "check.h"

static void descriptions(void) {
	CHECK(lsl_create_streaminfo("", "EEG", 1, 0, cft_int8, "x") == NULL);
	CHECK(strcmp(lsl_last_error(), "The name of a stream must be non-empty.") == 0);
	CHECK(lsl_create_streaminfo("n", "EEG", -1, 0, cft_int8, "x") == NULL);
	CHECK(strcmp(lsl_last_error(), "The channel_count of a stream must be nonnegative.") == 0);
	CHECK(lsl_create_streaminfo("n", "EEG", 1, 0, (lsl_channel_format_t)9, "x") == NULL);
	CHECK(lsl_create_streaminfo(NULL, "EEG", 1, 0, cft_int8, "x") == NULL);
	lsl_streaminfo info = lsl_create_streaminfo("n", "EEG", 4, 250.5, cft_int16, "id");
	CHECK(strcmp(lsl_get_name(info), "n") == 0 && strcmp(lsl_get_type(info), "EEG") == 0);
	CHECK(lsl_get_channel_count(info) == 4 && lsl_get_nominal_srate(info) == 250.5);
	CHECK(lsl_get_channel_format(info) == cft_int16 && strcmp(lsl_get_source_id(info), "id") == 0);
	CHECK(lsl_get_version(info) == 110 && lsl_get_created_at(info) == 0.0);
	CHECK(*lsl_get_uid(info) == 0 && *lsl_get_session_id(info) == 0 && *lsl_get_hostname(info) == 0);
	CHECK(lsl_get_channel_bytes(info) == 2 && lsl_get_sample_bytes(info) == 8);
	CHECK(lsl_stream_info_matches_query(info, "name='n' and channel_count>3") == 1);
	CHECK(lsl_stream_info_matches_query(info, "name='") == 0);
	CHECK(strlen(lsl_reset_uid(info)) == 36);
	char *xml = lsl_get_xml(info);
	lsl_streaminfo read = lsl_streaminfo_from_xml(xml), copy = lsl_copy_streaminfo(info);
	CHECK(strcmp(lsl_get_uid(read), lsl_get_uid(info)) == 0);
	CHECK(strcmp(lsl_get_uid(copy), lsl_get_uid(info)) == 0);
	free(xml); /* C's own free, as some programs do */
	lsl_streaminfo invalid = lsl_streaminfo_from_xml("rubbish");
	CHECK(strncmp(lsl_get_name(invalid), "(invalid", 8) == 0 && lsl_get_channel_count(invalid) == 0);
	lsl_destroy_streaminfo(info);
	lsl_destroy_streaminfo(invalid);
	lsl_destroy_streaminfo(copy);
	lsl_destroy_streaminfo(read);
	lsl_destroy_streaminfo(NULL);
}

static void trees(void) {
	lsl_streaminfo info = lsl_create_streaminfo("tree", "EEG", 1, 0, cft_int8, "");
	lsl_streaminfo other = lsl_create_streaminfo("other", "EEG", 1, 0, cft_int8, "");
	lsl_xml_ptr desc = lsl_get_desc(info), channels = lsl_append_child(desc, "channels");
	for (int k = 0; k < 3; k++) {
		char label[8];
		snprintf(label, sizeof label, "C%d", k);
		lsl_xml_ptr channel = lsl_append_child(channels, "channel");
		CHECK(lsl_append_child_value(channel, "label", label) == channel);
		CHECK(lsl_prepend_child_value(channel, "unit", "uV") == channel);
	}
	lsl_xml_ptr first = lsl_first_child(channels), last = lsl_last_child(channels);
	CHECK(first == lsl_child(channels, "channel") && lsl_parent(first) == channels);
	CHECK(strcmp(lsl_child_value_n(first, "label"), "C0") == 0);
	CHECK(strcmp(lsl_child_value(lsl_child(last, "label")), "C2") == 0);
	CHECK(lsl_next_sibling(first) == lsl_previous_sibling(last));
	CHECK(lsl_next_sibling_n(first, "channel") == lsl_previous_sibling_n(last, "channel"));
	CHECK(lsl_set_child_value(first, "label", "renamed") == 1);
	CHECK(lsl_set_child_value(first, "missing", "x") == 0);
	CHECK(strcmp(lsl_value(lsl_first_child(lsl_child(first, "label"))), "renamed") == 0);
	CHECK(lsl_is_text(lsl_first_child(lsl_child(first, "label"))) == 1 && lsl_is_text(first) == 0);
	CHECK(lsl_set_name(first, "electrode") == 1 && strcmp(lsl_name(first), "electrode") == 0);
	CHECK(lsl_set_value(first, "x") == 0);
	CHECK(lsl_set_value(lsl_first_child(lsl_child(first, "label")), "y") == 1);
	CHECK(!lsl_empty(lsl_append_copy(lsl_get_desc(other), channels)));
	CHECK(!lsl_empty(lsl_prepend_copy(channels, last)) && !lsl_empty(lsl_prepend_child(channels, "note")));
	lsl_remove_child(channels, last);
	CHECK(lsl_empty(last) && *lsl_name(last) == 0); /* a removed node is an empty one */
	lsl_remove_child_n(channels, "electrode");
	CHECK(lsl_empty(lsl_child(channels, "electrode")));
	CHECK(lsl_first_child(NULL) == NULL && *lsl_child_value(NULL) == 0 && lsl_empty(NULL) == 1);
	lsl_destroy_streaminfo(info);
	CHECK(lsl_stream_info_matches_query(other, "count(desc/channels/channel)=2"));
	lsl_destroy_streaminfo(other);
}

static void *other_thread(void *unused) {
	(void)unused;
	CHECK(lsl_create_streaminfo("n", "t", -1, 0, cft_int8, "") == NULL);
	CHECK(strcmp(lsl_last_error(), "The channel_count of a stream must be nonnegative.") == 0);
	return NULL;
}

static void last_errors(void) {
	pthread_t thread;
	CHECK(lsl_create_streaminfo("", "t", 1, 0, cft_int8, "") == NULL);
	CHECK(pthread_create(&thread, NULL, other_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
	CHECK(strcmp(lsl_last_error(), "The name of a stream must be non-empty.") == 0);
	char query[512];
	memset(query, '[', sizeof query);
	query[511] = 0;
	CHECK(lsl_resolve_bypred(NULL, 0, query, 1, 1.0) == lsl_argument_error);
	CHECK(strncmp(lsl_last_error(), "Invalid query '", 15) == 0 && lsl_last_error()[511] == 0);
}

static void resolvers(void) {
	lsl_streaminfo found[8];
	lsl_streaminfo info = lsl_create_streaminfo("resolved", "Kind", 1, 0, cft_int8, "r");
	lsl_outlet outlets[3];
	for (int k = 0; k < 3; k++) CHECK((outlets[k] = lsl_create_outlet(info, 0, 1)));
	lsl_continuous_resolver all = lsl_create_continuous_resolver(5.0);
	lsl_continuous_resolver by_type = lsl_create_continuous_resolver_byprop("type", "Kind", 5.0);
	lsl_continuous_resolver none = lsl_create_continuous_resolver_bypred("type='no'", 5.0);
	/* The original crashes here. */
	CHECK(lsl_resolve_byprop(NULL, 8, "type", "Kind", 3, LONG) == 0 && lsl_resolve_bypred(NULL, 8, "type='Kind'", 3, LONG) == 0);
	CHECK(lsl_resolve_all(NULL, 8, 0.1) == 0 && lsl_stream_info_matches_query(info, NULL) == 0);
	CHECK(all && by_type && none && !lsl_create_continuous_resolver_bypred("'", 5.0));
	CHECK(lsl_resolve_bypred(found, 8, "type='Kind' and channel_count=1", 3, LONG) == 3);
	for (int k = 0; k < 3; k++) {
		CHECK(strcmp(lsl_get_name(found[k]), "resolved") == 0);
		lsl_destroy_streaminfo(found[k]);
	}
	int count = 0;
	while (count < 3) {
		usleep(1000); /* valgrind runs one thread at a time, and a busy one keeps the others out */
		count = lsl_resolver_results(by_type, found, 8);
		CHECK(count >= 0);
		for (int k = 0; k < count; k++) lsl_destroy_streaminfo(found[k]);
	}
	CHECK(lsl_resolver_results(none, found, 8) == 0);
	/* It waits for as long as it is told; on a busy machine that may have to be longer. */
	count = 0;
	for (double seconds = 0.5; count < 3 && seconds < LONG; seconds *= 2.0) {
		count = lsl_resolve_all(found, 8, seconds);
		for (int k = 0; k < count; k++) lsl_destroy_streaminfo(found[k]);
	}
	CHECK(count == 3);
	lsl_destroy_continuous_resolver(none);
	lsl_destroy_continuous_resolver(all);
	lsl_destroy_continuous_resolver(by_type);
	for (int k = 0; k < 3; k++) lsl_destroy_outlet(outlets[k]);
	lsl_destroy_streaminfo(info);
}

static void any_order(void) {
	lsl_streaminfo info = lsl_create_streaminfo("order", "Kind", 2, 100, cft_float32, "o");
	lsl_outlet outlet = lsl_create_outlet_ex(info, 0, 1000, transp_bufsize_samples);
	CHECK(lsl_create_outlet_ex(info, 0, 1, (lsl_transport_options_t)3) == NULL);
	lsl_streaminfo served = lsl_get_info(outlet), found = resolve("order");
	CHECK(strcmp(lsl_get_uid(served), lsl_get_uid(found)) == 0);
	lsl_inlet inlet = lsl_create_inlet_ex(found, 500, 0, 0, transp_bufsize_samples);
	CHECK(lsl_create_inlet(found, 1, -1, 0) == NULL);
	lsl_destroy_streaminfo(info);
	int32_t error = 0;
	lsl_streaminfo full = lsl_get_fullinfo(inlet, LONG, &error);
	CHECK(full && error == 0);
	lsl_destroy_outlet(outlet);
	float sample[2];
	CHECK(lsl_pull_sample_f(inlet, sample, 2, LONG, &error) == 0.0 && error == lsl_lost_error);
	lsl_destroy_streaminfo(found);
	lsl_destroy_inlet(inlet);
	lsl_destroy_streaminfo(full);
	lsl_destroy_streaminfo(served);
	lsl_destroy_inlet(NULL);
	lsl_destroy_outlet(NULL);
}

int main(void) {
	configure();
	CHECK(lsl_library_version() == 118 && lsl_protocol_version() == 110);
	CHECK(strstr(lsl_library_info(), "Schwann") && strstr(lsl_library_info(), "security"));
	lsl_set_config_filename(NULL);
	lsl_destroy_string(NULL);
	lsl_destroy_string_array(NULL, 0);
	descriptions();
	trees();
	last_errors();
	resolvers();
	any_order();
	puts("infos: ok");
	return 0;
}
