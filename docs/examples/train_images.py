#!/usr/bin/env python3
"""A training loop with a slow loader, for docs/recording-a-job.md: images are made and augmented by the workers of a
DataLoader, and a small network learns to tell their classes.

    train_images.py [--workers N] [--steps N]
"""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        image = torch.rand(3, 160, 160)
        for _ in range(6):  # blur, noise and contrast, as an augmentation has them
            image = nn.functional.avg_pool2d(image, 3, stride=1, padding=1)
            image = (image + 0.05 * torch.rand_like(image)).clamp(0, 1)
            image = (image - image.mean()) / (image.std() + 1e-5)
        return image, index % 10


def network():
    layers, channels = [], 3
    for width in (32, 64, 128, 256):
        layers += [nn.Conv2d(channels, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
        channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    loader = DataLoader(Images(), batch_size=64, num_workers=args.workers, pin_memory=True)
    model = network().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for step, (images, labels) in enumerate(loader):
        images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step + 1 == args.steps:
            break
    print(f"{args.steps} steps, loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
