// A program written against the original's C++ header, which is taken from a published package when this is checked.
#include <lsl_cpp.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

// Long enough for a busy machine under valgrind; a test that passes never waits for it.
static const double LONG_WAIT = 60.0;

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);       \
			std::exit(1);                                                              \
		}                                                                                  \
	} while (0)

static lsl::stream_info find(const std::string &name) {
	std::vector<lsl::stream_info> found = lsl::resolve_stream("name", name, 1, LONG_WAIT);
	CHECK(found.size() == 1);
	return found[0];
}

template <typename T>
static void values_arrive(const char *name, lsl::channel_format_t format, const std::vector<T> &sample) {
	lsl::stream_outlet outlet(lsl::stream_info(name, "Test", (int)sample.size(), 100.0, format, name));
	lsl::stream_inlet inlet(find(name));
	inlet.open_stream(LONG_WAIT);
	CHECK(outlet.wait_for_consumers(LONG_WAIT) && outlet.have_consumers());
	std::vector<T> pulled;
	outlet.push_sample(sample, 5.0);
	CHECK(inlet.pull_sample(pulled, LONG_WAIT) == 5.0 && pulled == sample);
	std::vector<std::vector<T> > chunk(3, sample), chunk_out;
	std::vector<double> stamps, stamps_out;
	for (int k = 1; k <= 3; k++) stamps.push_back(k);
	outlet.push_chunk(chunk, stamps);
	while (chunk_out.size() < chunk.size()) {
		std::vector<std::vector<T> > some;
		std::vector<double> some_stamps;
		inlet.pull_chunk(some, some_stamps);
		chunk_out.insert(chunk_out.end(), some.begin(), some.end());
		stamps_out.insert(stamps_out.end(), some_stamps.begin(), some_stamps.end());
	}
	CHECK(chunk_out == chunk && stamps_out == stamps);
}

struct Measurement {
	float first, second;
};

static void structures_arrive() {
	lsl::stream_outlet outlet(lsl::stream_info("cpp-struct", "Test", 2, 0, lsl::cf_float32, "cpp-struct"));
	lsl::stream_inlet inlet(find("cpp-struct"));
	inlet.open_stream(LONG_WAIT);
	Measurement sent = {1.5f, -2.5f}, pulled = {0, 0};
	outlet.push_numeric_struct(sent, 7.0);
	CHECK(inlet.pull_numeric_struct(pulled, LONG_WAIT) == 7.0);
	CHECK(pulled.first == sent.first && pulled.second == sent.second);
	CHECK(std::fabs(inlet.time_correction(LONG_WAIT)) < 0.01);
	inlet.close_stream();
}

static void descriptions_arrive() {
	lsl::stream_info info("cpp-info", "EEG", 2, 100.0, lsl::cf_float32, "cpp-info");
	lsl::xml_element channels = info.desc().append_child("channels");
	for (const char *label : {"C3", "C4"})
		channels.append_child("channel").append_child_value("label", label).append_child_value("unit", "microvolts");
	lsl::stream_outlet outlet(info);
	lsl::stream_inlet inlet(find("cpp-info"));
	lsl::stream_info full = inlet.info(LONG_WAIT), copy(full);
	lsl::xml_element channel = copy.desc().child("channels").child("channel");
	CHECK(std::string(channel.child_value("label")) == "C3");
	channel = channel.next_sibling();
	CHECK(std::string(channel.child_value("label")) == "C4" && channel.next_sibling().empty());
	CHECK(full.uid() == outlet.info().uid() && full.as_xml().find("microvolts") != std::string::npos);
	CHECK(lsl::stream_info::from_xml(full.as_xml()).name() == "cpp-info");
}

static void every_stream_is_listed() {
	std::vector<lsl::stream_outlet *> outlets;
	lsl::continuous_resolver resolver("type", "cpp-many", 50.0);
	for (int k = 0; k < 8; k++)
		outlets.push_back(new lsl::stream_outlet(
			lsl::stream_info("cpp-many-" + std::to_string(k), "cpp-many", 1, 0, lsl::cf_int8, std::to_string(k))));
	CHECK(lsl::resolve_stream("type", "cpp-many", 8, LONG_WAIT).size() == 8);
	CHECK(lsl::resolve_stream("type='cpp-many' and name='cpp-many-3'", 1, LONG_WAIT).size() == 1);
	while (resolver.results().size() < 8) std::this_thread::yield();
	for (lsl::stream_outlet *outlet : outlets) delete outlet;
}

static void failures_are_exceptions() {
	lsl::stream_info info = lsl::stream_info("cpp-lost", "Test", 1, 0, lsl::cf_int32, "");
	lsl::stream_outlet *outlet = new lsl::stream_outlet(info);
	lsl::stream_inlet inlet(find("cpp-lost"), 360, 0, false);
	inlet.open_stream(LONG_WAIT);
	delete outlet;
	std::vector<int32_t> sample;
	bool lost = false;
	try {
		inlet.pull_sample(sample, LONG_WAIT);
	} catch (std::runtime_error &error) {
		// The header of 1.13 calls a loss a timeout, with the text of a loss.
		lost = std::string(error.what()).find("has been lost") != std::string::npos;
	}
	CHECK(lost);
	bool late = false;
	try {
		lsl::stream_inlet(lsl::stream_info("cpp-nobody", "Test", 1, 0, lsl::cf_int32, "x")).open_stream(0.1);
	} catch (lsl::timeout_error &) {
		late = true;
	}
	CHECK(late);
}

int main() {
	CHECK(lsl::library_version() >= 118 && lsl::protocol_version() == 110);
	CHECK(std::string(lsl::library_info()).find("Schwann") == 0);
	values_arrive<float>("cpp-f", lsl::cf_float32, {1.5f, -2.25f});
	values_arrive<double>("cpp-d", lsl::cf_double64, {0.1, 1e300});
	values_arrive<int32_t>("cpp-i", lsl::cf_int32, {2147483647, -5});
	values_arrive<int16_t>("cpp-s", lsl::cf_int16, {32767, -5});
	values_arrive<char>("cpp-c", lsl::cf_int8, {127, -5});
	values_arrive<std::string>("cpp-str", lsl::cf_string, {std::string("a\0b", 3), std::string(100000, 'x')});
	structures_arrive();
	descriptions_arrive();
	every_stream_is_listed();
	failures_are_exceptions();
	std::puts("wrapper: ok");
	return 0;
}
