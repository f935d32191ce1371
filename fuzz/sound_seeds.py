"""Seeds of sound files and of the configurations of feature extractors, for make_seeds.py."""
import json
import struct


def wav(tag, channels, bits, stated=None, chunks=b"", extension=b""):
    data = bytes(range(24))
    frame = channels * bits // 8
    form = struct.pack("<HHIIHH", tag, channels, 16000, 16000 * frame % 2**32, frame % 2**16, bits) + extension
    length = len(data) if stated is None else stated
    return (b"RIFF" + struct.pack("<I", 60) + b"WAVEfmt " + struct.pack("<I", len(form)) + form + chunks + b"data" +
            struct.pack("<I", length) + data)


SOUND = {
    "integers8": wav(1, 1, 8),
    "integers16": wav(1, 2, 16),
    "integers24": wav(1, 2, 24),
    "integers32": wav(1, 1, 32),
    "floats": wav(3, 1, 32),
    "doubles": wav(3, 3, 64),
    "list": wav(1, 1, 16, chunks=b"LIST\x03\0\0\0abc\0"),
    "stream": wav(1, 1, 16, stated=0xffffffff),
    "longer": wav(1, 1, 16, stated=99),
    "empty": wav(1, 1, 16, stated=0),
    "a_law": wav(6, 1, 8),
    "extensible": wav(0xfffe, 1, 16, extension=struct.pack("<HHIH", 22, 16, 4, 1) + bytes(14)),
    "channels": wav(1, 65535, 16),
    "raw": bytes(range(12)),
}

EXTRACTORS = {
    "AST": {"num_mel_bins": 8, "max_length": 20, "mean": -4.2, "std": 4.5, "do_normalize": True},
    "Clap": {"feature_size": 4, "max_length_s": 1, "nb_max_samples": 16000, "padding": "repeat",
             "truncation": "rand_trunc", "frequency_max": 7000},
    "CohereAsr": {"feature_size": 8, "dither": 1e-5, "max_audio_clip_s": 35.0, "overlap_chunk_second": 5.0},
    "Dac": {"hop_length": 512},
    "Encodec": {"chunk_length_s": None, "overlap": None},
    "Gemma3nAudio": {"feature_size": 2, "fft_length": 1024, "fft_overdrive": True, "frame_length": 512,
                     "per_bin_mean": [0, 1], "per_bin_stddev": [1, 2], "mel_floor": 1e-5, "min_frequency": 125.0},
    "Gemma4Audio": {"feature_size": 8, "frame_length": 320, "fft_length": 512, "input_scale_factor": 2.0},
    "Gemma4UnifiedAudio": {"audio_samples_per_token": 640, "feature_size": 640},
    "GraniteSpeech": {"melspec_kwargs": {"hop_length": 160, "n_fft": 512, "n_mels": 8, "win_length": 400},
                      "projector_window_size": 15, "projector_downsample_rate": 5},
    "KyutaiSpeechToText": {"audio_delay_seconds": 0.5, "audio_silence_prefix_seconds": 0.25},
    "Lasr": {"feature_size": 8, "n_fft": 512, "win_length": 400},
    "Parakeet": {"feature_size": 8, "n_fft": 512, "win_length": 400, "preemphasis": 0.97},
    "Phi4Multimodal": {"feature_size": 8, "audio_compression_rate": 8, "mel_max_frequency": 7690},
    "Qwen3ASR": {"chunk_length": 1, "n_window": 50, "min_length": 8000, "feature_size": 8},
    "SeamlessM4T": {"num_mel_bins": 8, "stride": 2, "padding_value": 1},
    "Speech2Text": {"num_mel_bins": 8, "do_ceptral_normalize": True, "normalize_vars": False},
    "Wav2Vec2": {"do_normalize": True, "return_attention_mask": True, "padding_side": "right"},
    "Whisper": {"chunk_length": 1, "n_samples": 16000, "nb_max_frames": 100, "feature_size": 8, "n_fft": 66,
                "do_normalize": True, "return_attention_mask": True},
}

SOUND_SEEDS = {f"sound/{name}": content for name, content in SOUND.items()}
for name, members in EXTRACTORS.items():
    config = {"feature_extractor_type": f"{name}FeatureExtractor", **members}
    SOUND_SEEDS[f"feature_extractor/{name}"] = json.dumps(config).encode()
