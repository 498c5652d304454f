using System;
using Schwann;

/// Sends and receives with every class of the wrapper, on the library that the loader finds.
static class RoundTrip
{
    static int Main()
    {
        string name = "Unity " + Guid.NewGuid();
        Console.WriteLine(Lsl.LibraryInfo);
        using (new MulticastLock())
        using (var info = new StreamInfo(name, "EEG", 2, 100, ChannelFormat.Float32, name))
        {
            info.AddChannels("microvolts", "Fz", "Öz");
            using (var outlet = new Outlet(info))
                Numbers(name, outlet);
        }
        using (var info = new StreamInfo(name + " markers", "Markers", 1, StreamInfo.Irregular, ChannelFormat.String, name))
        using (var outlet = new Outlet(info))
            Texts(name + " markers", outlet);
        Must(Refuses(() => new StreamInfo("", "EEG", 1, 0, ChannelFormat.Float32, "")), "a stream needs a name");
        Must(Refuses(() => Lsl.Resolve("][", 1, 0.1)), "a predicate must be one");
        Console.WriteLine("all is well");
        return 0;
    }

    static void Numbers(string name, Outlet outlet)
    {
        using (var inlet = Open(name))
        {
            Must(outlet.WaitForConsumers(20) && outlet.HasConsumers, "a consumer");
            using (var full = inlet.FullInfo())
                Must(full.ToXml().Contains("<label>Öz</label>") && full.ChannelCount == 2 && full.Rate == 100, "metadata");
            Must(Math.Abs(inlet.TimeCorrection(20)) < 1, "one clock");
            double stamp = Lsl.Clock;
            outlet.Push(new[] { 1.5f, -2.5f }, stamp);
            var sample = new float[2];
            Must(inlet.Pull(sample, 20) == stamp && sample[0] == 1.5f && sample[1] == -2.5f, "a sample");
            Must(inlet.Pull(sample) == 0, "nothing more");
            var sent = new float[200];
            for (int number = 0; number < sent.Length; number++)
                sent[number] = number;
            outlet.PushChunk(sent);
            var values = new float[sent.Length];
            Must(inlet.PullChunk(values, new double[100], 20) == 100 && values[199] == 199, "a chunk");
            Must(Refuses(() => outlet.Push(new float[3])) && Refuses(() => outlet.PushChunk(new float[3])), "three values");
        }
    }

    static void Texts(string name, Outlet outlet)
    {
        using (var inlet = Open(name))
        {
            Must(outlet.WaitForConsumers(20), "a consumer");
            outlet.Push(new[] { "Versuch 1: größer" });
            var sample = new string[1];
            Must(inlet.Pull(sample, 20) > 0 && sample[0] == "Versuch 1: größer", "a marker");
            Must(inlet.SamplesAvailable == 0 && inlet.Flush() == 0, "nothing more");
        }
    }

    static Inlet Open(string name)
    {
        StreamInfo[] found = Lsl.Resolve("name='" + name + "'", 1, 20);
        Must(found.Length == 1 && found[0].Name == name && found[0].Uid.Length > 0 && found[0].Host.Length > 0, "found");
        var inlet = new Inlet(found[0]);
        inlet.Process(PostProcessing.None);
        inlet.Open(20);
        return inlet;
    }

    static bool Refuses(Action action)
    {
        try
        {
            action();
            return false;
        }
        catch (Exception error)
        {
            return (error is LslException || error is ArgumentException) && error.Message.Length > 0;
        }
    }

    static void Must(bool holds, string what)
    {
        if (!holds)
            throw new Exception("not as it must be: " + what);
    }
}
