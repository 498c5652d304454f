using System;
#if UNITY_ANDROID && !UNITY_EDITOR
using UnityEngine;
#endif

namespace Schwann
{
    /// <summary>While it lives, an Android device hears multicast, by which streams are found; elsewhere it does nothing.</summary>
    public sealed class MulticastLock : IDisposable
    {
#if UNITY_ANDROID && !UNITY_EDITOR
        private readonly AndroidJavaObject held;

        public MulticastLock()
        {
            using (var player = new AndroidJavaClass("com.unity3d.player.UnityPlayer"))
            using (var activity = player.GetStatic<AndroidJavaObject>("currentActivity"))
            using (var wifi = activity.Call<AndroidJavaObject>("getSystemService", "wifi"))
                held = wifi.Call<AndroidJavaObject>("createMulticastLock", "schwann");
            held.Call("acquire");
        }

        public void Dispose()
        {
            if (held.Call<bool>("isHeld"))
                held.Call("release");
            held.Dispose();
        }
#else
        public void Dispose()
        {
        }
#endif
    }
}
