"""Charts, waveform and spectrogram: data in, pixels out."""
