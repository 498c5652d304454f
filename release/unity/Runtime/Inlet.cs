using System;

namespace Schwann
{
    /// <summary>What an inlet does with stamps; the numbers are those of the C interface.</summary>
    [Flags]
    public enum PostProcessing : uint
    {
        None = 0,
        /// <summary>Stamps are on this computer's clock.</summary>
        ClockSync = 1,
        /// <summary>Jitter is taken out.</summary>
        Dejitter = 2,
        /// <summary>No stamp is before the one before it.</summary>
        Monotonize = 4,
        All = ClockSync | Dejitter | Monotonize,
    }

    /// <summary>Receives a stream, until it is disposed of.</summary>
    public sealed class Inlet : IDisposable
    {
        private readonly int channels;
        private IntPtr handle;

        /// <param name="buffered">Seconds of samples, or hundreds of samples without a rate, that wait to be pulled.</param>
        /// <param name="recover">Whether it looks for the stream again after a loss.</param>
        public Inlet(StreamInfo info, int buffered = 360, bool recover = true)
        {
            channels = info.ChannelCount;
            handle = Native.Made(Native.lsl_create_inlet(info.Handle, buffered, 0, recover ? 1 : 0));
        }

        /// <summary>Samples that can be pulled without a wait.</summary>
        public int SamplesAvailable { get { return (int)Native.lsl_samples_available(handle); } }

        /// <summary>Begins to receive; samples that are sent before are not seen.</summary>
        public void Open(double seconds = 5)
        {
            int error;
            Native.lsl_open_stream(handle, seconds, out error);
            Native.Check(error);
        }

        /// <summary>The description with all metadata, from its sender.</summary>
        public StreamInfo FullInfo(double seconds = 5)
        {
            int error;
            IntPtr info = Native.lsl_get_fullinfo(handle, seconds, out error);
            Native.Check(error);
            return new StreamInfo(info);
        }

        /// <summary>Seconds to add to a stamp, so that it counts on this computer's clock.</summary>
        public double TimeCorrection(double seconds = 5)
        {
            int error;
            double correction = Native.lsl_time_correction(handle, seconds, out error);
            Native.Check(error);
            return correction;
        }

        /// <summary>Says what is done with stamps from now on.</summary>
        public void Process(PostProcessing how)
        {
            Native.Check(Native.lsl_set_postprocessing(handle, (uint)how));
        }

        /// <summary>Throws away what waits to be pulled; returns how many samples that were.</summary>
        public int Flush()
        {
            return (int)Native.lsl_inlet_flush(handle);
        }

        /// <summary>Takes one sample.</summary>
        /// <param name="sample">Room for a value per channel.</param>
        /// <param name="seconds">How long to wait for it; 0 does not wait.</param>
        /// <returns>Its stamp; 0 if none came.</returns>
        public double Pull(float[] sample, double seconds = 0)
        {
            int error;
            double stamp = Native.lsl_pull_sample_f(handle, sample, sample.Length, seconds, out error);
            return Stamp(stamp, error);
        }

        /// <summary>As above.</summary>
        public double Pull(double[] sample, double seconds = 0)
        {
            int error;
            double stamp = Native.lsl_pull_sample_d(handle, sample, sample.Length, seconds, out error);
            return Stamp(stamp, error);
        }

        /// <summary>As above.</summary>
        public double Pull(int[] sample, double seconds = 0)
        {
            int error;
            double stamp = Native.lsl_pull_sample_i(handle, sample, sample.Length, seconds, out error);
            return Stamp(stamp, error);
        }

        /// <summary>As above; for markers.</summary>
        public double Pull(string[] sample, double seconds = 0)
        {
            var texts = new IntPtr[sample.Length];
            var lengths = new uint[sample.Length];
            int error;
            double stamp = Native.lsl_pull_sample_buf(handle, texts, lengths, sample.Length, seconds, out error);
            stamp = Stamp(stamp, error);
            for (int channel = 0; stamp != 0 && channel < sample.Length; channel++)
            {
                sample[channel] = Native.ToText(texts[channel], (int)lengths[channel]);
                Native.lsl_destroy_string(texts[channel]);
            }
            return stamp;
        }

        /// <summary>Takes samples that have come.</summary>
        /// <param name="values">Room for whole samples: all channels of the first, then of the second.</param>
        /// <param name="stamps">Room for a stamp per sample.</param>
        /// <param name="seconds">How long to wait until the room is full.</param>
        /// <returns>How many samples were taken.</returns>
        public int PullChunk(float[] values, double[] stamps, double seconds = 0)
        {
            int error;
            UIntPtr count = Native.lsl_pull_chunk_f(
                handle, values, stamps, (UIntPtr)(uint)values.Length, (UIntPtr)(uint)stamps.Length, seconds, out error);
            if (error != LslException.Timeout)
                Native.Check(error);
            // Windows says nothing in the upper half.
            return (int)(uint)(count.ToUInt64() & uint.MaxValue) / channels;
        }

        private static double Stamp(double stamp, int error)
        {
            if (error == LslException.Timeout)
                return 0;
            Native.Check(error);
            return stamp;
        }

        /// <summary>Ends receiving.</summary>
        public void Dispose()
        {
            Native.lsl_destroy_inlet(handle);
            handle = IntPtr.Zero;
            GC.SuppressFinalize(this);
        }

        ~Inlet()
        {
            Native.lsl_destroy_inlet(handle);
        }
    }
}
