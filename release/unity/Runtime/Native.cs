using System;
using System.Runtime.InteropServices;
using System.Text;

namespace Schwann
{
    /// <summary>The functions of the C library that the classes here call, and text as it takes it.</summary>
    internal static class Native
    {
#if UNITY_IOS && !UNITY_EDITOR
        private const string Library = "__Internal";
#else
        private const string Library = "lsl";
#endif

        [DllImport(Library)] internal static extern IntPtr lsl_last_error();
        [DllImport(Library)] internal static extern IntPtr lsl_library_info();
        [DllImport(Library)] internal static extern double lsl_local_clock();
        [DllImport(Library)] internal static extern void lsl_destroy_string(IntPtr text);

        [DllImport(Library)]
        internal static extern IntPtr lsl_create_streaminfo(
            byte[] name, byte[] type, int channels, double rate, int format, byte[] sourceId);
        [DllImport(Library)] internal static extern void lsl_destroy_streaminfo(IntPtr info);
        [DllImport(Library)] internal static extern IntPtr lsl_get_name(IntPtr info);
        [DllImport(Library)] internal static extern IntPtr lsl_get_type(IntPtr info);
        [DllImport(Library)] internal static extern int lsl_get_channel_count(IntPtr info);
        [DllImport(Library)] internal static extern double lsl_get_nominal_srate(IntPtr info);
        [DllImport(Library)] internal static extern int lsl_get_channel_format(IntPtr info);
        [DllImport(Library)] internal static extern IntPtr lsl_get_source_id(IntPtr info);
        [DllImport(Library)] internal static extern IntPtr lsl_get_uid(IntPtr info);
        [DllImport(Library)] internal static extern IntPtr lsl_get_hostname(IntPtr info);
        [DllImport(Library)] internal static extern IntPtr lsl_get_xml(IntPtr info);
        [DllImport(Library)] internal static extern IntPtr lsl_get_desc(IntPtr info);
        [DllImport(Library)] internal static extern IntPtr lsl_append_child(IntPtr element, byte[] name);
        [DllImport(Library)]
        internal static extern IntPtr lsl_append_child_value(IntPtr element, byte[] name, byte[] value);

        [DllImport(Library)]
        internal static extern int lsl_resolve_all([Out] IntPtr[] found, uint room, double seconds);
        [DllImport(Library)]
        internal static extern int lsl_resolve_bypred(
            [Out] IntPtr[] found, uint room, byte[] predicate, int minimum, double seconds);

        [DllImport(Library)] internal static extern IntPtr lsl_create_outlet(IntPtr info, int chunk, int buffered);
        [DllImport(Library)] internal static extern void lsl_destroy_outlet(IntPtr outlet);
        [DllImport(Library)] internal static extern int lsl_have_consumers(IntPtr outlet);
        [DllImport(Library)] internal static extern int lsl_wait_for_consumers(IntPtr outlet, double seconds);
        [DllImport(Library)]
        internal static extern int lsl_push_sample_ftp(IntPtr outlet, float[] sample, double stamp, int flush);
        [DllImport(Library)]
        internal static extern int lsl_push_sample_dtp(IntPtr outlet, double[] sample, double stamp, int flush);
        [DllImport(Library)]
        internal static extern int lsl_push_sample_itp(IntPtr outlet, int[] sample, double stamp, int flush);
        [DllImport(Library)]
        internal static extern int lsl_push_sample_buftp(
            IntPtr outlet, IntPtr[] sample, uint[] lengths, double stamp, int flush);
        // The number is an `unsigned long` of C: 32 bits on Windows, a pointer's elsewhere. Registers have room for either.
        [DllImport(Library)]
        internal static extern int lsl_push_chunk_ftp(IntPtr outlet, float[] values, UIntPtr count, double stamp, int flush);

        [DllImport(Library)] internal static extern IntPtr lsl_create_inlet(IntPtr info, int buffered, int chunk, int recover);
        [DllImport(Library)] internal static extern void lsl_destroy_inlet(IntPtr inlet);
        [DllImport(Library)] internal static extern void lsl_open_stream(IntPtr inlet, double seconds, out int error);
        [DllImport(Library)] internal static extern IntPtr lsl_get_fullinfo(IntPtr inlet, double seconds, out int error);
        [DllImport(Library)] internal static extern double lsl_time_correction(IntPtr inlet, double seconds, out int error);
        [DllImport(Library)] internal static extern int lsl_set_postprocessing(IntPtr inlet, uint flags);
        [DllImport(Library)] internal static extern uint lsl_samples_available(IntPtr inlet);
        [DllImport(Library)] internal static extern uint lsl_inlet_flush(IntPtr inlet);
        [DllImport(Library)]
        internal static extern double lsl_pull_sample_f(
            IntPtr inlet, [Out] float[] sample, int room, double seconds, out int error);
        [DllImport(Library)]
        internal static extern double lsl_pull_sample_d(
            IntPtr inlet, [Out] double[] sample, int room, double seconds, out int error);
        [DllImport(Library)]
        internal static extern double lsl_pull_sample_i(
            IntPtr inlet, [Out] int[] sample, int room, double seconds, out int error);
        [DllImport(Library)]
        internal static extern double lsl_pull_sample_buf(
            IntPtr inlet, [Out] IntPtr[] sample, [Out] uint[] lengths, int room, double seconds, out int error);
        [DllImport(Library)]
        internal static extern UIntPtr lsl_pull_chunk_f(
            IntPtr inlet, [Out] float[] values, [Out] double[] stamps, UIntPtr valueRoom, UIntPtr stampRoom, double seconds,
            out int error);

        /// <summary>Text as C takes it: UTF-8, and a zero at its end.</summary>
        internal static byte[] ToNative(string text)
        {
            return Encoding.UTF8.GetBytes((text ?? "") + "\0");
        }

        /// <summary>Text of C, up to its zero.</summary>
        internal static string ToText(IntPtr text)
        {
            if (text == IntPtr.Zero)
                return "";
            int length = 0;
            while (Marshal.ReadByte(text, length) != 0)
                length++;
            return ToText(text, length);
        }

        internal static string ToText(IntPtr text, int length)
        {
            var bytes = new byte[length];
            Marshal.Copy(text, bytes, 0, length);
            return Encoding.UTF8.GetString(bytes);
        }

        /// <summary>Throws what an error code means.</summary>
        internal static void Check(int error)
        {
            if (error != 0)
                throw new LslException(error, ToText(lsl_last_error()));
        }

        /// <summary>Throws if there is no handle.</summary>
        internal static IntPtr Made(IntPtr handle)
        {
            if (handle == IntPtr.Zero)
                throw new LslException(LslException.Internal, ToText(lsl_last_error()));
            return handle;
        }
    }
}
