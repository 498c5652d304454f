using System;

namespace Schwann
{
    /// <summary>Type of a stream's values; the numbers are those of the C interface.</summary>
    public enum ChannelFormat
    {
        Float32 = 1,
        Double64 = 2,
        String = 3,
        Int32 = 4,
        Int16 = 5,
        Int8 = 6,
        Int64 = 7,
    }

    /// <summary>What a stream is: its name, type, channels and rate.</summary>
    public sealed class StreamInfo : IDisposable
    {
        /// <summary>The rate of a stream without one, such as markers.</summary>
        public const double Irregular = 0;

        internal IntPtr Handle { get; private set; }

        internal StreamInfo(IntPtr handle)
        {
            Handle = Native.Made(handle);
        }

        /// <summary>Describes a stream that is to be sent.</summary>
        /// <param name="rate">Samples per second, or <see cref="Irregular"/>.</param>
        /// <param name="sourceId">What stays the same when the game restarts. Without it a receiver that lost the stream does not
        /// find it again.</param>
        public StreamInfo(string name, string type, int channels, double rate, ChannelFormat format, string sourceId)
            : this(Native.lsl_create_streaminfo(
                Native.ToNative(name), Native.ToNative(type), channels, rate, (int)format, Native.ToNative(sourceId)))
        {
        }

        /// <summary>What people call it.</summary>
        public string Name { get { return Native.ToText(Native.lsl_get_name(Handle)); } }
        /// <summary>Kind of its content, such as <c>EEG</c>.</summary>
        public string Type { get { return Native.ToText(Native.lsl_get_type(Handle)); } }
        /// <summary>Values per sample.</summary>
        public int ChannelCount { get { return Native.lsl_get_channel_count(Handle); } }
        /// <summary>Samples per second as announced.</summary>
        public double Rate { get { return Native.lsl_get_nominal_srate(Handle); } }
        /// <summary>Type of its values.</summary>
        public ChannelFormat Format { get { return (ChannelFormat)Native.lsl_get_channel_format(Handle); } }
        /// <summary>What stays the same when its sender restarts.</summary>
        public string SourceId { get { return Native.ToText(Native.lsl_get_source_id(Handle)); } }
        /// <summary>Another one after each start of its sender.</summary>
        public string Uid { get { return Native.ToText(Native.lsl_get_uid(Handle)); } }
        /// <summary>The computer that sends it.</summary>
        public string Host { get { return Native.ToText(Native.lsl_get_hostname(Handle)); } }

        /// <summary>All of it as XML, with the metadata.</summary>
        public string ToXml()
        {
            IntPtr text = Native.lsl_get_xml(Handle);
            try
            {
                return Native.ToText(text);
            }
            finally
            {
                Native.lsl_destroy_string(text);
            }
        }

        /// <summary>Adds the channels to the metadata.</summary>
        /// <param name="unit">That of every channel, such as <c>microvolts</c>.</param>
        /// <param name="labels">A label for each.</param>
        public void AddChannels(string unit, params string[] labels)
        {
            IntPtr channels = Native.lsl_append_child(Native.lsl_get_desc(Handle), Native.ToNative("channels"));
            foreach (string label in labels)
            {
                IntPtr channel = Native.lsl_append_child(channels, Native.ToNative("channel"));
                Native.lsl_append_child_value(channel, Native.ToNative("label"), Native.ToNative(label));
                Native.lsl_append_child_value(channel, Native.ToNative("unit"), Native.ToNative(unit));
            }
        }

        /// <summary>Gives the description back.</summary>
        public void Dispose()
        {
            Native.lsl_destroy_streaminfo(Handle);
            Handle = IntPtr.Zero;
            GC.SuppressFinalize(this);
        }

        ~StreamInfo()
        {
            Native.lsl_destroy_streaminfo(Handle);
        }
    }
}
