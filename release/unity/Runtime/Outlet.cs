using System;
using System.Runtime.InteropServices;
using System.Text;

namespace Schwann
{
    /// <summary>Sends a stream to all who want it, until it is disposed of.</summary>
    public sealed class Outlet : IDisposable
    {
        private readonly int channels;
        private IntPtr handle;

        /// <param name="buffered">Seconds of samples, or hundreds of samples without a rate, that are kept for a slow receiver.</param>
        public Outlet(StreamInfo info, int buffered = 360)
        {
            channels = info.ChannelCount;
            handle = Native.Made(Native.lsl_create_outlet(info.Handle, 0, buffered));
        }

        /// <summary>Whether someone receives it now.</summary>
        public bool HasConsumers { get { return Native.lsl_have_consumers(handle) != 0; } }

        /// <summary>Waits until someone receives it; false if the time was over first.</summary>
        public bool WaitForConsumers(double seconds)
        {
            return Native.lsl_wait_for_consumers(handle, seconds) != 0;
        }

        /// <summary>Sends one sample: a value per channel.</summary>
        /// <param name="stamp">When it was, in seconds of <see cref="Lsl.Clock"/>; 0: now.</param>
        /// <param name="flush">Whether it leaves at once, rather than with the next one.</param>
        public void Push(float[] sample, double stamp = 0, bool flush = true)
        {
            MustHave(sample.Length);
            Native.Check(Native.lsl_push_sample_ftp(handle, sample, stamp, flush ? 1 : 0));
        }

        /// <summary>As above.</summary>
        public void Push(double[] sample, double stamp = 0, bool flush = true)
        {
            MustHave(sample.Length);
            Native.Check(Native.lsl_push_sample_dtp(handle, sample, stamp, flush ? 1 : 0));
        }

        /// <summary>As above.</summary>
        public void Push(int[] sample, double stamp = 0, bool flush = true)
        {
            MustHave(sample.Length);
            Native.Check(Native.lsl_push_sample_itp(handle, sample, stamp, flush ? 1 : 0));
        }

        /// <summary>As above; for markers.</summary>
        public void Push(string[] sample, double stamp = 0, bool flush = true)
        {
            MustHave(sample.Length);
            var texts = new IntPtr[channels];
            var lengths = new uint[channels];
            try
            {
                for (int channel = 0; channel < channels; channel++)
                {
                    byte[] bytes = Encoding.UTF8.GetBytes(sample[channel] ?? "");
                    texts[channel] = Marshal.AllocHGlobal(Math.Max(bytes.Length, 1));
                    Marshal.Copy(bytes, 0, texts[channel], bytes.Length);
                    lengths[channel] = (uint)bytes.Length;
                }
                Native.Check(Native.lsl_push_sample_buftp(handle, texts, lengths, stamp, flush ? 1 : 0));
            }
            finally
            {
                foreach (IntPtr text in texts)
                    Marshal.FreeHGlobal(text);
            }
        }

        /// <summary>Sends samples: all channels of the first, then of the second.</summary>
        /// <param name="stamp">That of the last one; 0: now. The others follow from the rate.</param>
        public void PushChunk(float[] values, double stamp = 0, bool flush = true)
        {
            if (values.Length % channels != 0)
                throw new ArgumentException("A chunk has " + channels + " values per sample, not a part of that.");
            Native.Check(Native.lsl_push_chunk_ftp(handle, values, (UIntPtr)(uint)values.Length, stamp, flush ? 1 : 0));
        }

        private void MustHave(int count)
        {
            if (count != channels)
                throw new ArgumentException("A sample of this stream has " + channels + " values, not " + count + ".");
        }

        /// <summary>Ends the stream.</summary>
        public void Dispose()
        {
            Native.lsl_destroy_outlet(handle);
            handle = IntPtr.Zero;
            GC.SuppressFinalize(this);
        }

        ~Outlet()
        {
            Native.lsl_destroy_outlet(handle);
        }
    }
}
