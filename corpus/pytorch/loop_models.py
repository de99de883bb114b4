"""The models that generate.py trains: each has the batch, shape and classes of its samples. And these samples."""
import time

import torch
from torch import nn


class Convolutions(nn.Module):
    """Image classification; channels grow as the image shrinks."""
    batch, shape, classes = 48, (3, 96, 96), 100

    def __init__(self):
        super().__init__()
        layers, channels = [], 3
        for width in (48, 48, 96, 96, 192, 192, 384, 384):
            stride = 2 if width != channels else 1
            layers += [nn.Conv2d(channels, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.GELU()]
            channels = width
        self.body, self.head = nn.Sequential(*layers), nn.Linear(channels, self.classes)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


class Encoder(nn.Module):
    """A transformer encoder over tokens given as vectors."""
    batch, shape, classes = 24, (128, 384), 50

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(384, 6, 1536, dropout=0.0, batch_first=True, norm_first=True)
        self.body, self.head = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False), nn.Linear(384, self.classes)

    def forward(self, x):
        return self.head(self.body(x).mean(1))


class Recurrent(nn.Module):
    """Two LSTM layers of cuDNN over a sequence."""
    batch, shape, classes = 64, (60, 256), 20

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.LSTM(256, 512, 2, batch_first=True), nn.Linear(512, self.classes)

    def forward(self, x):
        return self.head(self.body(x)[0][:, -1])


class Autoencoder(nn.Module):
    """Images down and up again, with skips, as a U-Net has them; judged as classes of the mean."""
    batch, shape, classes = 16, (3, 128, 128), 10

    def __init__(self):
        super().__init__()
        widths = (32, 64, 128, 256)
        self.down = nn.ModuleList(nn.Sequential(nn.Conv2d(a, b, 3, 1, 1), nn.GroupNorm(8, b), nn.SiLU())
                                  for a, b in zip((3,) + widths, widths))
        self.up = nn.ModuleList(nn.Sequential(nn.Conv2d(a + b, b, 3, 1, 1), nn.GroupNorm(8, b), nn.SiLU())
                                for a, b in zip(widths[:0:-1], widths[-2::-1]))
        self.head = nn.Linear(widths[0], self.classes)

    def forward(self, x):
        skips = []
        for layer in self.down:
            x = layer(x)
            skips.append(x)
            x = nn.functional.max_pool2d(x, 2)
        x = nn.functional.interpolate(x, scale_factor=2)
        for layer, skip in zip(self.up, skips[-2::-1]):
            x = nn.functional.interpolate(x, size=skip.shape[2:])
            x = layer(torch.cat((x, skip), 1))
        return self.head(x.mean((2, 3)))


class Perceptron(nn.Module):
    """Wide dense layers: few launches, much work."""
    batch, shape, classes = 512, (1536,), 1000

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(*(m for _ in range(6) for m in (nn.Linear(1536, 1536), nn.ReLU())))
        self.head = nn.Linear(1536, self.classes)

    def forward(self, x):
        return self.head(self.body(x))


class Decoder(nn.Module):
    """Causal attention and gated layers over a sequence, as language models have them."""
    batch, shape, classes = 16, (192, 320), 500

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.ModuleDict({
            'norm': nn.RMSNorm(320), 'qkv': nn.Linear(320, 960, bias=False), 'out': nn.Linear(320, 320, bias=False),
            'norm2': nn.RMSNorm(320), 'gate': nn.Linear(320, 1728, bias=False), 'down': nn.Linear(864, 320, bias=False)})
            for _ in range(5))
        self.head = nn.Linear(320, self.classes)

    def forward(self, x):
        for layer in self.layers:
            q, k, v = layer['qkv'](layer['norm'](x)).unflatten(2, (3, 5, 64)).permute(2, 0, 3, 1, 4)
            x = x + layer['out'](nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
            gate, up = layer['gate'](layer['norm2'](x)).chunk(2, 2)
            x = x + layer['down'](nn.functional.silu(gate) * up)
        return self.head(x[:, -1])


class Depthwise(nn.Module):
    """Separable convolutions, channels last: many small kernels."""
    batch, shape, classes = 40, (3, 112, 112), 200

    def __init__(self):
        super().__init__()
        layers, channels = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.Hardswish()], 32
        for width in (64, 64, 128, 128, 256, 256):
            stride = 2 if width != channels else 1
            layers += [nn.Conv2d(channels, channels, 5, stride, 2, groups=channels, bias=False), nn.BatchNorm2d(channels),
                       nn.Hardswish(), nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)]
            channels = width
        self.body, self.head = nn.Sequential(*layers), nn.Linear(channels, self.classes)
        self.to(memory_format=torch.channels_last)

    def forward(self, x):
        return self.head(self.body(x.contiguous(memory_format=torch.channels_last)).mean((2, 3)))


def timm_model(name, batch=32):
    """A model of timm, without trained weights, as a class like those above."""
    import timm

    class Timm(nn.Module):
        shape, classes = (3, 160, 160), 100

        def __init__(self):
            super().__init__()
            self.body = timm.create_model(name, num_classes=self.classes, **({'img_size': 160} if 'vit' in name else {}))

        def forward(self, x):
            return self.body(x)

    Timm.batch = batch
    return Timm


def model_of(name):
    return timm_model(name[5:]) if name.startswith('timm-') else MODELS[name]


MODELS = {'convolutions': Convolutions, 'encoder': Encoder, 'recurrent': Recurrent, 'autoencoder': Autoencoder,
          'perceptron': Perceptron, 'decoder': Decoder, 'depthwise': Depthwise}


class Samples(torch.utils.data.Dataset):
    """Each costs what the injected cause, `detail`, makes of it."""

    def __init__(self, model, detail, dial):
        self.shape, self.classes, self.detail, self.dial = model.shape, model.classes, detail, dial
        self.one = torch.randn(self.shape)

    def __len__(self):
        return 1 << 30

    def __getitem__(self, i):
        x = self.one
        if self.detail == 'input_io':
            time.sleep(self.dial / 1000)
        if self.detail in ('input_cpu', 'input_main'):
            for _ in range(self.dial):
                x = x * 1.0001
        return x, i % self.classes
