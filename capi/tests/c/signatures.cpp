// Every name of the original's C++ interface, version 1.18, with its exact signature: what compiles with these compiles with the
// original's header, and the other way round. Nothing runs.
#include <lsl_cpp.h>

#include <type_traits>

using namespace lsl;

// The address of one overload: a template argument of this type selects it, or nothing compiles.
template <class F, F> struct overload {};
#define METHOD(CLASS, NAME, RESULT, ...) template struct overload<RESULT (CLASS::*) __VA_ARGS__, &CLASS::NAME>
#define FUNCTION(NAME, RESULT, ...) template struct overload<RESULT(*) __VA_ARGS__, &NAME>

FUNCTION(check_error, int32_t, (int32_t));
FUNCTION(protocol_version, int32_t, ());
FUNCTION(library_version, int32_t, ());
FUNCTION(library_info, const char *, ());
FUNCTION(local_clock, double, ());
FUNCTION(resolve_streams, std::vector<stream_info>, (double));
FUNCTION(resolve_stream, std::vector<stream_info>, (const std::string &, const std::string &, int32_t, double));
FUNCTION(resolve_stream, std::vector<stream_info>, (const std::string &, int32_t, double));

METHOD(stream_info, clone, stream_info, ());
METHOD(stream_info, name, std::string, () const);
METHOD(stream_info, type, std::string, () const);
METHOD(stream_info, channel_count, int32_t, () const);
METHOD(stream_info, nominal_srate, double, () const);
METHOD(stream_info, channel_format, channel_format_t, () const);
METHOD(stream_info, source_id, std::string, () const);
METHOD(stream_info, version, int32_t, () const);
METHOD(stream_info, created_at, double, () const);
METHOD(stream_info, uid, std::string, () const);
METHOD(stream_info, reset_uid, std::string, ());
METHOD(stream_info, session_id, std::string, () const);
METHOD(stream_info, hostname, std::string, () const);
METHOD(stream_info, desc, xml_element, ());
METHOD(stream_info, matches_query, bool, (const char *) const);
METHOD(stream_info, as_xml, std::string, () const);
METHOD(stream_info, channel_bytes, int32_t, () const);
METHOD(stream_info, sample_bytes, int32_t, () const);
METHOD(stream_info, handle, std::shared_ptr<lsl_streaminfo_struct_>, () const);
FUNCTION(stream_info::from_xml, stream_info, (const std::string &));

struct Pair {
	float first, second;
};

// What exists for each type of values.
#define VALUES(T)                                                                                                       \
	METHOD(stream_outlet, push_sample, void, (const T *, double, bool));                                                \
	METHOD(stream_outlet, push_sample, void, (const std::vector<T> &, double, bool));                                   \
	template struct overload<void (stream_outlet::*)(const T *, double, bool), &stream_outlet::push_sample<T, 8> >;     \
	METHOD(stream_outlet, push_chunk, void, (const std::vector<std::vector<T> > &, double, bool));                      \
	METHOD(stream_outlet, push_chunk, void, (const std::vector<std::vector<T> > &, const std::vector<double> &, bool)); \
	METHOD(stream_outlet, push_chunk, void, (const std::vector<const T *> &, double, bool));                            \
	METHOD(stream_outlet, push_chunk_multiplexed, void, (const std::vector<T> &, double, bool));                        \
	METHOD(stream_outlet, push_chunk_multiplexed, void, (const std::vector<T> &, const std::vector<double> &, bool));   \
	METHOD(stream_outlet, push_chunk_multiplexed, void, (const T *, std::size_t, double, bool));                        \
	METHOD(stream_outlet, push_chunk_multiplexed, void, (const T *, const double *, std::size_t, bool));                \
	METHOD(stream_inlet, pull_sample, double, (T *, int32_t, double));                                                  \
	METHOD(stream_inlet, pull_sample, double, (std::vector<T> &, double));                                              \
	template struct overload<double (stream_inlet::*)(T *, double), &stream_inlet::pull_sample<T, 8> >;                 \
	METHOD(stream_inlet, pull_chunk, bool, (std::vector<std::vector<T> > &, std::vector<double> &));                    \
	METHOD(stream_inlet, pull_chunk, double, (std::vector<std::vector<T> > &));                                         \
	METHOD(stream_inlet, pull_chunk<T>, std::vector<std::vector<T> >, ());                                              \
	METHOD(stream_inlet, pull_chunk_multiplexed, bool, (std::vector<T> &, std::vector<double> *, double, bool));        \
	METHOD(stream_inlet, pull_chunk_multiplexed, std::size_t, (T *, double *, std::size_t, std::size_t, double))

VALUES(float);
VALUES(double);
VALUES(int64_t);
VALUES(int32_t);
VALUES(int16_t);
VALUES(char);
VALUES(std::string);

METHOD(stream_outlet, push_numeric_struct, void, (const Pair &, double, bool));
METHOD(stream_outlet, push_numeric_raw, void, (const void *, double, bool));
METHOD(stream_outlet, push_chunk_numeric_structs, void, (const std::vector<Pair> &, double, bool));
METHOD(stream_outlet, push_chunk_numeric_structs, void, (const std::vector<Pair> &, const std::vector<double> &, bool));
METHOD(stream_outlet, have_consumers, bool, ());
METHOD(stream_outlet, wait_for_consumers, bool, (double));
METHOD(stream_outlet, info, stream_info, () const);
METHOD(stream_outlet, handle, std::shared_ptr<lsl_outlet_struct_>, ());

METHOD(stream_inlet, handle, std::shared_ptr<lsl_inlet_struct_>, ());
METHOD(stream_inlet, info, stream_info, (double));
METHOD(stream_inlet, open_stream, void, (double));
METHOD(stream_inlet, close_stream, void, ());
METHOD(stream_inlet, time_correction, double, (double));
METHOD(stream_inlet, time_correction, double, (double *, double *, double));
METHOD(stream_inlet, set_postprocessing, void, (uint32_t));
METHOD(stream_inlet, pull_numeric_struct, double, (Pair &, double));
METHOD(stream_inlet, pull_numeric_raw, double, (void *, int32_t, double));
METHOD(stream_inlet, pull_chunk_numeric_structs, bool, (std::vector<Pair> &, std::vector<double> &));
METHOD(stream_inlet, pull_chunk_numeric_structs, double, (std::vector<Pair> &));
METHOD(stream_inlet, pull_chunk_numeric_structs<Pair>, std::vector<Pair>, ());
METHOD(stream_inlet, samples_available, std::size_t, ());
METHOD(stream_inlet, was_clock_reset, bool, ());
METHOD(stream_inlet, smoothing_halftime, void, (float));
METHOD(stream_inlet, get_channel_count, int, () const);
static_assert(std::is_same<decltype(std::declval<stream_inlet &>().flush()), uint32_t>::value, "flush");
static_assert(noexcept(std::declval<stream_inlet &>().flush()), "flush");

METHOD(xml_element, first_child, xml_element, () const);
METHOD(xml_element, last_child, xml_element, () const);
METHOD(xml_element, next_sibling, xml_element, () const);
METHOD(xml_element, next_sibling, xml_element, (const std::string &) const);
METHOD(xml_element, previous_sibling, xml_element, () const);
METHOD(xml_element, previous_sibling, xml_element, (const std::string &) const);
METHOD(xml_element, parent, xml_element, () const);
METHOD(xml_element, child, xml_element, (const std::string &) const);
METHOD(xml_element, empty, bool, () const);
METHOD(xml_element, is_text, bool, () const);
METHOD(xml_element, name, const char *, () const);
METHOD(xml_element, value, const char *, () const);
METHOD(xml_element, child_value, const char *, () const);
METHOD(xml_element, child_value, const char *, (const std::string &) const);
METHOD(xml_element, append_child_value, xml_element, (const std::string &, const std::string &));
METHOD(xml_element, prepend_child_value, xml_element, (const std::string &, const std::string &));
METHOD(xml_element, set_child_value, bool, (const std::string &, const std::string &));
METHOD(xml_element, set_name, bool, (const std::string &));
METHOD(xml_element, set_value, bool, (const std::string &));
METHOD(xml_element, append_child, xml_element, (const std::string &));
METHOD(xml_element, prepend_child, xml_element, (const std::string &));
METHOD(xml_element, append_copy, xml_element, (const xml_element &));
METHOD(xml_element, prepend_copy, xml_element, (const xml_element &));
METHOD(xml_element, remove_child, void, (const std::string &));
METHOD(xml_element, remove_child, void, (const xml_element &));

METHOD(continuous_resolver, results, std::vector<stream_info>, ());

// What can be made from what, copied and moved.
#define MADE_FROM(CLASS, ...) static_assert(std::is_constructible<CLASS, __VA_ARGS__>::value, #CLASS)
MADE_FROM(stream_info, std::string, std::string, int32_t, double, channel_format_t, std::string);
MADE_FROM(stream_outlet, stream_info, int32_t, int32_t, lsl_transport_options_t);
MADE_FROM(stream_inlet, stream_info, int32_t, int32_t, bool, lsl_transport_options_t);
MADE_FROM(continuous_resolver, double);
MADE_FROM(continuous_resolver, std::string, double);
MADE_FROM(continuous_resolver, std::string, std::string, double);
MADE_FROM(lost_error, std::string);
MADE_FROM(timeout_error, std::string);
static_assert(std::is_default_constructible<stream_info>::value && std::is_default_constructible<xml_element>::value, "");
static_assert(std::is_default_constructible<continuous_resolver>::value, "");
static_assert(std::is_convertible<lsl_streaminfo, stream_info>::value && std::is_convertible<lsl_xml_ptr, xml_element>::value, "");
static_assert(std::is_copy_constructible<stream_info>::value && std::is_copy_assignable<stream_info>::value, "");
static_assert(!std::is_copy_constructible<stream_outlet>::value && !std::is_copy_constructible<stream_inlet>::value, "");
#define MOVES(CLASS)                                                                                                    \
	static_assert(std::is_nothrow_move_constructible<CLASS>::value && std::is_nothrow_move_assignable<CLASS>::value, #CLASS)
MOVES(stream_info);
MOVES(stream_outlet);
MOVES(stream_inlet);
MOVES(continuous_resolver);
static_assert(std::is_base_of<std::runtime_error, lost_error>::value, "");
static_assert(std::is_base_of<std::runtime_error, timeout_error>::value, "");

static_assert(cf_undefined == 0 && cf_float32 == 1 && cf_double64 == 2 && cf_string == 3, "");
static_assert(cf_int32 == 4 && cf_int16 == 5 && cf_int8 == 6 && cf_int64 == 7, "");
static_assert(post_none == 0 && post_clocksync == 1 && post_dejitter == 2 && post_monotonize == 4, "");
static_assert(post_threadsafe == 8 && post_ALL == 15, "");
