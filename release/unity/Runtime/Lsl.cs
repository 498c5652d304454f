using System;

namespace Schwann
{
    /// <summary>The library as a whole: its clock, and the search for streams.</summary>
    public static class Lsl
    {
        /// <summary>Now, in seconds of the clock that stamps of this computer count on.</summary>
        public static double Clock { get { return Native.lsl_local_clock(); } }

        /// <summary>Which library it is, and whether it seals streams.</summary>
        public static string LibraryInfo { get { return Native.ToText(Native.lsl_library_info()); } }

        /// <summary>Searches streams.</summary>
        /// <param name="predicate">Such as <c>type='EEG' and channel_count&gt;8</c>; null finds all.</param>
        /// <param name="minimum">The search ends once there are this many.</param>
        /// <param name="seconds">It ends after this time with what it has found.</param>
        public static StreamInfo[] Resolve(string predicate = null, int minimum = 1, double seconds = 2)
        {
            var handles = new IntPtr[MostStreams];
            int count = predicate == null
                ? Native.lsl_resolve_all(handles, MostStreams, seconds)
                : Native.lsl_resolve_bypred(handles, MostStreams, Native.ToNative(predicate), minimum, seconds);
            if (count < 0)
                Native.Check(count);
            var found = new StreamInfo[count];
            for (int number = 0; number < count; number++)
                found[number] = new StreamInfo(handles[number]);
            return found;
        }

        private const uint MostStreams = 1024;
    }
}
