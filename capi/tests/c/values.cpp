// Calls every method of the C++ interface and prints what it gives. The output is the same with every library: a check compares
// ours with the original.
#include <lsl_cpp.h>

#include <cmath>
#include <iostream>
#include <thread>

// Long enough for a busy machine; a test that passes never waits for it.
static const double LONG_WAIT = 60.0;

template <class T> static void print(const char *what, const T &value) { std::cout << what << ' ' << value << '\n'; }

template <class T> static void print(const char *what, const std::vector<T> &values) {
	std::cout << what;
	for (const T &value : values) std::cout << ' ' << value;
	std::cout << '\n';
}

static void print(const char *what, const std::vector<char> &values) {
	print(what, std::vector<int>(values.begin(), values.end()));
}

template <class T> static void print(const char *what, const std::vector<std::vector<T>> &samples) {
	for (const std::vector<T> &sample : samples) print(what, sample);
}

/// What a call throws, by its class.
template <class Call> static void print_error(const char *what, Call call) {
	const char *thrown = "nothing";
	try {
		call();
	} catch (lsl::lost_error &) {
		thrown = "lost_error";
	} catch (lsl::timeout_error &) {
		thrown = "timeout_error";
	} catch (std::invalid_argument &) {
		thrown = "invalid_argument";
	} catch (std::runtime_error &) {
		thrown = "runtime_error";
	}
	print(what, thrown);
}

/// An outlet and an inlet that are connected.
struct Pair {
	lsl::stream_outlet outlet;
	lsl::stream_inlet inlet;

	Pair(const std::string &name, lsl::channel_format_t format, double rate)
		: outlet(lsl::stream_info(name, "Test", 2, rate, format, name)),
		  inlet(lsl::resolve_stream("name", name, 1, LONG_WAIT).at(0)) {
		inlet.open_stream(LONG_WAIT);
		outlet.wait_for_consumers(LONG_WAIT);
	}

	/// Methods that take what has arrived do not wait for it.
	void arrived(std::size_t samples) {
		while (inlet.samples_available() < samples) std::this_thread::yield();
	}
};

struct Numbers {
	float first, second;
};

template <class T> static void samples(Pair &pair, const T (&values)[2]) {
	const std::vector<T> sample(values, values + 2);
	T array[2];
	std::vector<T> pulled;
	pair.outlet.push_sample(values, 1.0);
	pair.outlet.push_sample(sample, 2.0, false);
	pair.outlet.template push_sample<T, 2>(values, 3.0);
	print("stamp", pair.inlet.pull_sample(array, 2, LONG_WAIT));
	print("array", std::vector<T>(array, array + 2));
	print("stamp", pair.inlet.template pull_sample<T, 2>(array, LONG_WAIT));
	print("array", std::vector<T>(array, array + 2));
	print("stamp", pair.inlet.pull_sample(pulled, LONG_WAIT));
	print("vector", pulled);
	print("none", pair.inlet.pull_sample(pulled, 0.0));
}

template <class T> static void chunks(Pair &pair, const T (&values)[2]) {
	const std::vector<std::vector<T>> rows(3, std::vector<T>(values, values + 2));
	const std::vector<const T *> pointers(2, values);
	const std::vector<double> stamps = {1.0, 2.0, 4.0};
	std::vector<std::vector<T>> chunk;
	std::vector<double> pulled;
	pair.outlet.push_chunk(rows, 10.0);
	pair.arrived(3);
	print("any", pair.inlet.pull_chunk(chunk, pulled));
	print("row", chunk);
	print("stamps", pulled);
	pair.outlet.push_chunk(rows, stamps);
	pair.arrived(3);
	print("last", pair.inlet.pull_chunk(chunk));
	pair.outlet.push_chunk(pointers, 20.0, false);
	pair.outlet.push_chunk(pointers, 21.0);
	pair.arrived(4);
	print("row", pair.inlet.template pull_chunk<T>());
	print("any", pair.inlet.pull_chunk(chunk, pulled));
}

template <class T> static void multiplexed(Pair &pair, const T (&values)[2]) {
	const T flat[4] = {values[0], values[1], values[1], values[0]};
	const std::vector<T> vector(flat, flat + 4);
	const std::vector<double> stamps = {1.0, 2.5};
	T data[4];
	double times[2];
	for (int push = 0; push < 4; push++) {
		if (push == 0) pair.outlet.push_chunk_multiplexed(vector, 10.0);
		if (push == 1) pair.outlet.push_chunk_multiplexed(vector, stamps);
		if (push == 2) pair.outlet.push_chunk_multiplexed(flat, 4, 11.0);
		if (push == 3) pair.outlet.push_chunk_multiplexed(flat, stamps.data(), 4);
		print("values", pair.inlet.pull_chunk_multiplexed(data, times, 4, 2, LONG_WAIT));
		print("flat", std::vector<T>(data, data + 4));
		print("stamps", std::vector<double>(times, times + 2));
	}
	std::vector<T> chunk;
	std::vector<double> pulled;
	pair.outlet.push_chunk_multiplexed(vector, 30.0);
	pair.arrived(2);
	print("any", pair.inlet.pull_chunk_multiplexed(chunk, &pulled, LONG_WAIT));
	pair.outlet.push_chunk_multiplexed(vector, 40.0);
	pair.arrived(2);
	print("any", pair.inlet.pull_chunk_multiplexed(chunk, &pulled, 0.0, true));
	print("flat", chunk);
	print("stamps", pulled);
	print_error("odd length", [&] { pair.inlet.pull_chunk_multiplexed(data, times, 3, 2); });
}

template <class T> static void values_of(const char *name, lsl::channel_format_t format, const T (&values)[2]) {
	std::cout << "== " << name << '\n';
	Pair pair(name, format, 100.0);
	samples(pair, values);
	chunks(pair, values);
	multiplexed(pair, values);
	print_error("three values", [&] { pair.outlet.push_sample(std::vector<T>(3)); });
}

static void structures() {
	std::cout << "== structures\n";
	Pair pair("structures", lsl::cf_float32, 100.0);
	const Numbers numbers = {1.5f, -2.5f};
	const std::vector<Numbers> chunk(2, numbers);
	Numbers pulled = {0, 0};
	std::vector<Numbers> some;
	std::vector<double> stamps;
	pair.outlet.push_numeric_struct(numbers, 1.0);
	pair.outlet.push_numeric_raw(&numbers, 2.0);
	print("stamp", pair.inlet.pull_numeric_struct(pulled, LONG_WAIT));
	print("stamp", pair.inlet.pull_numeric_raw(&pulled, sizeof pulled, LONG_WAIT));
	print("values", std::vector<float>{pulled.first, pulled.second});
	pair.outlet.push_chunk_numeric_structs(chunk, 10.0);
	pair.arrived(2);
	print("any", pair.inlet.pull_chunk_numeric_structs(some, stamps));
	print("stamps", stamps);
	pair.outlet.push_chunk_numeric_structs(chunk, std::vector<double>{3.0, 5.0});
	pair.arrived(2);
	print("last", pair.inlet.pull_chunk_numeric_structs(some));
	pair.outlet.push_chunk_numeric_structs(chunk, 20.0);
	pair.arrived(2);
	print("count", pair.inlet.pull_chunk_numeric_structs<Numbers>().size());
	print_error("another size", [&] { pair.outlet.push_numeric_struct(1.0f); });
	pair.outlet.push_numeric_struct(numbers);
	print_error("another size", [&] { pair.inlet.pull_numeric_raw(&pulled, 3, LONG_WAIT); });
}

static void inlets() {
	std::cout << "== inlets\n";
	Pair pair("inlets", lsl::cf_int32, lsl::IRREGULAR_RATE);
	const int32_t sample[2] = {1, 2};
	double remote = 0.0, uncertainty = -1.0;
	print("near", std::fabs(pair.inlet.time_correction(LONG_WAIT)) < 0.01);
	print("near", std::fabs(pair.inlet.time_correction(&remote, &uncertainty, LONG_WAIT)) < 0.01);
	print("measured", remote > 0.0 && uncertainty >= 0.0 && uncertainty < 1.0);
	print("reset", pair.inlet.was_clock_reset());
	print("channels", pair.inlet.get_channel_count());
	pair.outlet.push_sample(sample);
	pair.arrived(1);
	print("flushed", pair.inlet.flush());
	pair.inlet.smoothing_halftime(10.0f);
	pair.inlet.set_postprocessing(lsl::post_clocksync | lsl::post_dejitter);
	pair.inlet.set_postprocessing();
	print("consumers", pair.outlet.have_consumers());
	pair.inlet.close_stream();
	print("C", lsl_have_consumers(pair.outlet.handle().get()) <= 1 && pair.inlet.handle() != nullptr);
	lsl::stream_outlet outlet(std::move(pair.outlet));
	pair.outlet = std::move(outlet);
	lsl::stream_inlet inlet(std::move(pair.inlet));
	pair.inlet = std::move(inlet);
	print("moved", pair.outlet.info().name() + " " + pair.inlet.info(LONG_WAIT).name());
}

static void descriptions() {
	std::cout << "== descriptions\n";
	print_error("without a name", [] { lsl::stream_info("", "Test"); });
	print("because", lsl_last_error());
	lsl::stream_info info("described", "EEG", 2, 250.0, lsl::cf_double64, "described-1"), none;
	print("name", info.name() + " " + info.type() + " " + info.source_id());
	print("shape", info.channel_count() * 1000 + info.channel_bytes() * 100 + info.sample_bytes());
	print("rate", info.nominal_srate());
	print("format", info.channel_format());
	print("untitled", none.name() + std::to_string(none.channel_count()));
	print("identity", info.reset_uid() == info.uid() && info.uid().size() == 36);
	print("version", info.version());
	print("matches", info.matches_query("type='EEG' and channel_count>1"));
	print("matches", info.matches_query("type='Markers'"));
	const lsl::stream_outlet outlet(info);
	lsl::stream_info sent = outlet.info();
	print("sent", sent.created_at() > 0.0 && !sent.hostname().empty() && sent.uid() != info.uid());
	print("session", sent.session_id().substr(0, 3));
	print("C", lsl_get_channel_count(sent.handle().get()));
	lsl::stream_info copy(info), clone(info.clone()), read = lsl::stream_info::from_xml(info.as_xml());
	copy.desc().append_child_value("maker", "Schwann");
	print("shared", info.desc().child_value("maker"));
	print("cloned", clone.desc().empty() || clone.desc().child("maker").empty());
	print("read", read.name() + " " + std::to_string(read.nominal_srate()));
	copy = none;
	copy = std::move(clone);
	print("moved", lsl::stream_info(std::move(copy)).name());
}

static void tree() {
	std::cout << "== tree\n";
	lsl::stream_info info("tree", "EEG", 2, 0.0, lsl::cf_float32), other = info.clone();
	lsl::xml_element desc = info.desc(), channels = desc.append_child("channels"), empty;
	for (const char *label : {"C3", "C4"}) channels.append_child("channel").append_child_value("label", label);
	channels.prepend_child("reference").prepend_child_value("label", "Cz");
	const lsl::xml_element first = channels.first_child(), last = channels.last_child();
	print("names", std::string(first.name()) + " " + last.name() + " " + first.next_sibling().name() + " " +
					   last.previous_sibling().parent().name());
	print("labels", std::string(first.child_value("label")) + " " + first.next_sibling("channel").child_value("label") + " " +
						last.previous_sibling("channel").child("label").child_value());
	lsl::xml_element text = first.child("label").first_child();
	print("text", std::string(text.value()) + " " + std::to_string(text.is_text()) + std::to_string(first.is_text()));
	print("set", text.set_value("Pz") && first.parent().first_child().set_name("ground"));
	print("set", channels.child("ground").set_child_value("label", "Fz"));
	other.desc().append_copy(channels);
	other.desc().prepend_copy(channels).remove_child("channel");
	other.desc().last_child().remove_child(other.desc().last_child().first_child());
	desc.remove_child("channels");
	print("empty", empty.empty() && desc.first_child().empty());
	const std::string xml = other.as_xml();
	const std::size_t from = xml.find("<desc>"), until = xml.find("</desc>");
	print("other", until == std::string::npos ? std::string("no desc") : xml.substr(from, until - from));
}

static void searches() {
	std::cout << "== searches\n";
	const lsl::stream_outlet a(lsl::stream_info("search-a", "Searched", 1, 0.0, lsl::cf_int8, "a")),
		b(lsl::stream_info("search-b", "Searched", 1, 0.0, lsl::cf_int8, "b"));
	lsl::continuous_resolver all(LONG_WAIT), by_type("type", "Searched", LONG_WAIT), by_condition("name='search-b'", LONG_WAIT);
	print("by type", lsl::resolve_stream("type", "Searched", 2, LONG_WAIT).size());
	print("by condition", lsl::resolve_stream("type='Searched' and name='search-a'", 1, LONG_WAIT).at(0).source_id());
	print("all", lsl::resolve_streams(1.0).size() >= 2);
	print("none", lsl::resolve_stream("name", "nothing", 1, 0.1).size());
	print_error("malformed", [] { lsl::resolve_stream("name='", 1, 0.1); });
	while (by_type.results().size() < 2 || all.results().size() < 2) std::this_thread::yield();
	lsl::continuous_resolver moved(std::move(by_condition));
	by_condition = std::move(moved);
	while (by_condition.results().empty()) std::this_thread::yield();
	print("found", by_condition.results().at(0).name());
}

static void errors() {
	std::cout << "== errors\n";
	print("passes", lsl::check_error(3));
	for (int32_t error = -1; error >= -5; error--) print_error("error", [&] { lsl::check_error(error); });
	const lsl::stream_info gone("gone", "Test", 1, 0.0, lsl::cf_int32, "gone");
	print_error("late", [&] { lsl::stream_inlet(gone).open_stream(0.1); });
	std::unique_ptr<lsl::stream_outlet> outlet(new lsl::stream_outlet(lsl::stream_info("lost", "Test", 1, 0.0, lsl::cf_int32)));
	lsl::stream_inlet inlet(lsl::resolve_stream("name", "lost", 1, LONG_WAIT).at(0), 360, 0, false);
	inlet.open_stream(LONG_WAIT);
	outlet.reset();
	int32_t value;
	print_error("lost", [&] { inlet.pull_sample(&value, 1, LONG_WAIT); });
	const lsl::stream_info texts("texts", "Test", 1, 0.0, lsl::cf_string, "texts");
	print_error("blocking texts", [&] { lsl::stream_outlet(texts, 0, 360, transp_sync_blocking); });
}

int main() {
	print("constants", std::vector<double>{lsl::IRREGULAR_RATE, lsl::DEDUCED_TIMESTAMP, lsl::FOREVER});
	print("versions", lsl::protocol_version() * 1000 + lsl::library_version());
	print("info", *lsl::library_info() != 0 && lsl::local_clock() > 0.0);
	values_of<float>("float", lsl::cf_float32, {1.5f, -2.25f});
	values_of<double>("double", lsl::cf_double64, {0.1, 1e300});
	values_of<int64_t>("int64", lsl::cf_int64, {INT64_MAX, -5});
	values_of<int32_t>("int32", lsl::cf_int32, {INT32_MAX, -5});
	values_of<int16_t>("int16", lsl::cf_int16, {INT16_MAX, -5});
	values_of<char>("int8", lsl::cf_int8, {127, -5});
	values_of<std::string>("string", lsl::cf_string, {std::string("a\0b", 3), std::string(100, 'x')});
	values_of<int32_t>("converted", lsl::cf_string, {12, -5});
	structures();
	inlets();
	descriptions();
	tree();
	searches();
	errors();
	return 0;
}
