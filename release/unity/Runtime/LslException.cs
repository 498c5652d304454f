using System;

namespace Schwann
{
    /// <summary>What the library says went wrong.</summary>
    public sealed class LslException : Exception
    {
        /// <summary>The time was over.</summary>
        public const int Timeout = -1;
        /// <summary>The stream is gone, and does not come back.</summary>
        public const int Lost = -2;
        /// <summary>An argument is wrong.</summary>
        public const int Argument = -3;
        /// <summary>Anything else.</summary>
        public const int Internal = -4;

        /// <summary>One of the numbers above.</summary>
        public int Code { get; private set; }

        internal LslException(int code, string message)
            : base(message.Length > 0 ? message : code == Timeout ? "The time was over." : "The library failed, and did not say why.")
        {
            Code = code;
        }
    }
}
