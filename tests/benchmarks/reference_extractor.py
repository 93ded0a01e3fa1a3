# ruff: noqa
# Kept as the norms of version 1 were measured with it, but for the definitions that changed with version 2: the one
# formant ceiling, the background from unvoiced frames, soft ends of speech, syllables instead of detected nuclei.
"""Reference extractor: the features by Praat, to compare our own with.

Own code, written for this evidence base. Praat (through parselmouth) does pitch,
period marks, harmonicity, formants, intensity and CPPS; numpy does the rest.
Every feature definition here is the one that norms.toml describes in words.
"""

import math
import numpy as np
import parselmouth
from parselmouth.praat import call
from scipy.signal import butter, sosfiltfilt

SR = 16000
MIN_PAUSE = 0.25
MIN_SPEECH = 0.10
DETECTED_SHARE = 0.883


def load(path):
    import soundfile as sf

    x, sr = sf.read(path, always_2d=True)
    x = x.mean(axis=1)
    s = parselmouth.Sound(x, sampling_frequency=sr)
    if sr != SR:
        s = s.resample(SR)
    y = s.values[0]
    y = y - y.mean()
    return parselmouth.Sound(y, sampling_frequency=SR)


def bark(f):
    return 26.81 * f / (1960.0 + f) - 0.53


def runs(mask):
    d = np.diff(np.concatenate(([0], mask.astype(int), [0])))
    return list(zip(np.where(d == 1)[0], np.where(d == -1)[0]))


def two_pass_pitch(s):
    p = s.to_pitch_ac(time_step=0.01, pitch_floor=60, pitch_ceiling=600)
    f = p.selected_array["frequency"]
    f = f[f > 0]
    if len(f) < 30:
        return None
    q25, q75 = np.percentile(f, [25, 75])
    floor = max(55.0, 0.75 * q25)
    ceil = min(600.0, 2.0 * q75)
    p = s.to_pitch_ac(time_step=0.01, pitch_floor=floor, pitch_ceiling=ceil)
    return p, floor, ceil


def extract(s, cpps=True):
    out = {}
    r = two_pass_pitch(s)
    if r is None:
        return None
    pitch, floor, ceil = r
    t = pitch.xs()
    f0 = pitch.selected_array["frequency"]
    inten = s.to_intensity(minimum_pitch=100, time_step=0.01)
    it, iv = inten.xs(), inten.values[0]
    lev = np.interp(t, it, iv)
    p95 = np.percentile(lev, 95)
    unvoiced = np.sort(lev[f0 == 0])
    rank = int(0.02 * len(lev))
    p05 = unvoiced[rank] if rank < len(unvoiced) else -np.inf
    out["dyn_range"] = p95 - p05
    thr = p95 - min(25.0, 0.65 * (p95 - p05))
    soft = min(thr, max(p95 - 35.0, p05 + 6.0))
    snd = lev > thr
    for a, b in runs(snd):  # follow the ends outwards while the level falls
        for edge, step in ((b - 1, 1), (a, -1)):
            k, lowest = edge + step, lev[edge]
            while 0 <= k < len(lev) and lev[k] > soft and lev[k] <= lowest + 1.0:
                lowest = min(lowest, lev[k])
                snd[k] = True
                k += step
    # bridge gaps shorter than MIN_PAUSE, drop islands shorter than MIN_SPEECH
    dt = 0.01
    for a, b in runs(~snd):
        if (b - a) * dt < MIN_PAUSE and a > 0 and b < len(snd):
            snd[a:b] = True
    for a, b in runs(snd):
        if (b - a) * dt < MIN_SPEECH:
            snd[a:b] = False
    for a, b in runs(~snd):
        if (b - a) * dt < MIN_PAUSE and a > 0 and b < len(snd):
            snd[a:b] = True
    seg = runs(snd)
    if not seg:
        return None
    a0, b0 = seg[0][0], seg[-1][1]
    total = (b0 - a0) * dt
    speech = sum((b - a) for a, b in seg) * dt
    pauses = [(seg[i + 1][0] - seg[i][1]) * dt for i in range(len(seg) - 1)]
    out["duration"], out["speech_time"] = total, speech
    out["n_pauses"] = len(pauses)
    out["pause_rate"] = 60.0 * len(pauses) / total
    out["pause_duration"] = float(np.mean(pauses)) if pauses else np.nan
    out["pause_duration_variability"] = float(np.std(pauses, ddof=1)) if len(pauses) > 2 else np.nan
    out["pause_ratio"] = 100.0 * (total - speech) / total
    out["phrase_length"] = speech / len(seg)
    voiced = (f0 > 0) & snd
    vseg = [(a, b) for a, b in runs(voiced) if (b - a) >= 3]
    out["voiced_segment_length"] = float(np.mean([(b - a) * dt for a, b in vseg]))
    out["voiced_fraction"] = 100.0 * voiced.sum() / snd.sum()
    # syllable nuclei after de Jong & Wempe 2009
    pk = []
    i = 1
    sm = np.convolve(lev, np.ones(3) / 3, "same")
    cand = [k for k in range(1, len(sm) - 1) if sm[k] > sm[k - 1] and sm[k] >= sm[k + 1] and sm[k] > thr and snd[k]]
    last = None
    for k in cand:
        if last is None:
            last = k
            pk.append(k)
            continue
        dip = sm[pk[-1] : k + 1].min()
        if sm[k] - dip >= 2.0 and sm[pk[-1]] - dip >= 2.0:
            pk.append(k)
        elif sm[k] > sm[pk[-1]]:
            pk[-1] = k
    nuc = [k for k in pk if voiced[max(0, k - 2) : k + 3].any()]
    out["n_nuclei"] = len(nuc)
    syllables = len(nuc) / DETECTED_SHARE
    out["speech_rate"] = syllables / total
    out["articulation_rate"] = syllables / speech
    # pitch
    v = f0[voiced]
    st = 12 * np.log2(v / 100.0)
    med = np.median(st)
    keep = np.abs(st - med) < 14
    st, v = st[keep], v[keep]
    out["pitch_mean"] = float(np.mean(v))
    out["pitch_variability"] = float(np.std(st, ddof=1))
    out["pitch_range"] = float(np.percentile(st, 95) - np.percentile(st, 5))
    f0st = np.where(voiced, 12 * np.log2(np.maximum(f0, 1) / 100.0), np.nan)
    resets = []
    for j in range(len(seg) - 1):
        e = f0st[seg[j][0] : seg[j][1]]
        e = e[~np.isnan(e)][-20:]
        n = f0st[seg[j + 1][0] : seg[j + 1][1]]
        n = n[~np.isnan(n)][:20]
        if len(e) >= 8 and len(n) >= 8:
            resets.append(np.median(n) - np.median(e))
    out["pitch_reset"] = float(np.mean(resets)) if len(resets) >= 2 else np.nan
    trem = []
    sos = butter(2, [4, 12], "bandpass", fs=100, output="sos")
    for a, b in vseg:
        if b - a >= 40:
            z = f0st[a:b]
            z = np.interp(np.arange(len(z)), np.where(~np.isnan(z))[0], z[~np.isnan(z)])
            z = z - np.polyval(np.polyfit(np.arange(len(z)), z, 3), np.arange(len(z)))
            trem.append((np.std(sosfiltfilt(sos, z)), b - a))
    out["voice_tremor"] = float(np.average([q for q, _ in trem], weights=[w for _, w in trem])) if trem else np.nan
    # loudness (gain-free except the mean)
    rms_db = lev - 20 * math.log10(1 / 2e-5)  # Praat dB re 20 uPa -> dB re full scale
    out["loudness_mean"] = float(np.mean(rms_db[snd]))
    out["loudness_variability"] = float(np.std(lev[snd]))
    out["loudness_range"] = float(np.percentile(lev[snd], 95) - np.percentile(lev[snd], 5))
    # perturbation
    pp = call([s, pitch], "To PointProcess (cc)")
    out["voice_jitter"] = 100 * call(pp, "Get jitter (local)", 0, 0, 0.0001, 0.02, 1.3)
    out["voice_shimmer_percent"] = 100 * call([s, pp], "Get shimmer (local)", 0, 0, 0.0001, 0.02, 1.3, 1.6)
    out["voice_shimmer"] = call([s, pp], "Get shimmer (local_dB)", 0, 0, 0.0001, 0.02, 1.3, 1.6)
    h = s.to_harmonicity_cc(time_step=0.01, minimum_pitch=floor, silence_threshold=0.03)
    hv = h.values[0]
    ht = h.xs()
    hv_i = np.interp(t, ht, np.where(hv < -50, np.nan, hv))
    out["harmonics_to_noise"] = float(np.nanmean(hv_i[voiced]))
    # vowel-like frames
    vl = voiced & (lev > p95 - 15) & (np.nan_to_num(hv_i, nan=-99) > 3)
    if vl.sum() < 30:
        vl = voiced
    # band harmonicity -> aspiration noise
    bp = call(s, "Filter (pass Hann band)", 1500, 4500, 100)
    hb = bp.to_harmonicity_cc(time_step=0.01, minimum_pitch=floor, silence_threshold=0.001)
    hbv = np.interp(t, hb.xs(), np.where(hb.values[0] < -50, np.nan, hb.values[0]))
    out["aspiration_noise"] = float(-np.nanmean(hbv[vl]))
    # CPPS as Maryn & Weenink 2015, on sounding stretches only
    x = s.values[0]
    parts = [x[int(a * dt * SR) : int(b * dt * SR)] for a, b in seg]
    sp = parselmouth.Sound(np.concatenate(parts), sampling_frequency=SR)
    if cpps:
        pc = call(sp, "To PowerCepstrogram", 60, 0.002, 5000, 50)
        out["cepstral_peak_prominence"] = call(
            pc, "Get CPPS", "no", 0.01, 0.001, 60, 330, 0.05, "Parabolic", 0.001, 0, "Straight", "Robust"
        )
    # spectra
    N = 1024
    win = np.hanning(640)
    fr = np.fft.rfftfreq(N, 1 / SR)
    b1 = (fr >= 50) & (fr <= 1000)
    b2 = (fr > 1000) & (fr <= 5000)
    h0 = (fr >= 0) & (fr <= 2000)
    h2 = (fr > 2000) & (fr <= 5000)
    s1 = (fr >= 0) & (fr <= 500)
    s2 = (fr > 500) & (fr <= 1500)
    A, H, S1, S2, D, C = [], [], [], [], [], []
    # cepstral set-up (10 kHz band limit as CPPS: use 0..5000 Hz)
    cb = fr <= 5000
    for k in np.where(vl)[0]:
        c = int(round(t[k] * SR))
        z = x[c - 320 : c + 320]
        if len(z) < 640:
            continue
        P = np.abs(np.fft.rfft(z * win, N)) ** 2 + 1e-14
        L = 10 * np.log10(P)
        A.append(10 * math.log10(P[b2].sum() / P[b1].sum()))
        H.append(L[h0].max() - L[h2].max())
        S1.append(np.polyfit(fr[s1] / 1000, L[s1], 1)[0])
        S2.append(np.polyfit(fr[s2] / 1000, L[s2], 1)[0])
        f = f0[k]
        m1 = (fr > 0.85 * f) & (fr < 1.15 * f)
        m2 = (fr > 1.85 * f) & (fr < 2.15 * f)
        D.append(L[m1].max() - L[m2].max())
        cep = np.abs(np.fft.irfft(L[cb] - L[cb].mean(), 1024))
        cepdb = 20 * np.log10(cep[:512] + 1e-9)
        q = np.arange(512) / 10000.0 * (2 * (cb.sum() - 1)) / 1024
        qs = (q >= 1 / 400.0) & (q <= 1 / 60.0)
        reg = (q >= 0.001) & (q <= 1 / 60.0)
        co = np.polyfit(q[reg], cepdb[reg], 1)
        kk = np.argmax(np.where(qs, cepdb, -1e9))
        C.append(cepdb[kk] - np.polyval(co, q[kk]))
    out["alpha_ratio"] = float(np.mean(A))
    out["hammarberg_index"] = float(np.mean(H))
    out["spectral_slope_low"] = float(np.mean(S1))
    out["spectral_slope_mid"] = float(np.mean(S2))
    out["h1_h2_difference"] = float(np.mean(D))
    out["cepstral_peak_variability"] = float(np.std(C))
    # formants
    ceilf = 5250
    fm = s.to_formant_burg(
        time_step=0.01, max_number_of_formants=5, maximum_formant=ceilf, window_length=0.025, pre_emphasis_from=50
    )
    F = {n: [] for n in "123"}
    B = []
    for k in np.where(vl)[0]:
        q = [fm.get_value_at_time(n, t[k]) for n in (1, 2, 3)]
        if any(math.isnan(z) for z in q):
            continue
        if not (200 < q[0] < 1100 and 600 < q[1] < 3000 and 1400 < q[2] < 4000):
            continue
        F["1"].append(q[0])
        F["2"].append(q[1])
        F["3"].append(q[2])
        B.append(fm.get_bandwidth_at_time(1, t[k]))
    F = {k: np.array(z) for k, z in F.items()}
    out["formant_1_mean"] = float(F["1"].mean())
    out["formant_2_mean"] = float(F["2"].mean())
    out["formant_3_mean"] = float(F["3"].mean())
    out["formant_1_bandwidth"] = float(np.median(B))
    out["formant_2_variability"] = float(100 * F["2"].std() / F["2"].mean())
    cov = np.cov(bark(F["1"]), bark(F["2"]))
    out["vowel_space"] = float(math.pi * math.sqrt(max(np.linalg.det(cov), 0)))
    out["n_vowel_frames"] = int(vl.sum())
    return out
