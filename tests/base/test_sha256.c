/* SHA-256 against the vectors of FIPS 180-4 and of sha256sum. */
#include "pd_test.h"

#include "base/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect(const char *piece, size_t times, size_t at_once, const char *expected) {
  sha256 sum;
  char text[SHA256_TEXT_BYTES];
  const size_t bytes = strlen(piece);
  sha256_begin(&sum);
  for (size_t i = 0; i < times; i++)
    for (size_t at = 0; at < bytes; at += at_once)
      sha256_add(&sum, piece + at, bytes - at < at_once ? bytes - at : at_once);
  sha256_end(&sum, text);
  cr_assert_str_eq(text, expected, "%zu times %s", times, piece);
}

PD_TEST(sha256, known_values) {
  static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  static const char ten[] = "0123456789";
  expect("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  for (size_t at_once = 1; at_once < 70; at_once += 4) {
    expect("abc", 1, at_once, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(two_blocks, 1, at_once, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  }
  expect("a", 1000000, 1, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  for (size_t bytes = 54; bytes < 66; bytes++) { /* where the length no longer fits */
    char filled[80] = "";
    memset(filled, 'x', bytes);
    sha256 one, two;
    char first[SHA256_TEXT_BYTES], second[SHA256_TEXT_BYTES];
    sha256_begin(&one);
    sha256_add(&one, filled, bytes);
    sha256_end(&one, first);
    sha256_begin(&two);
    for (size_t i = 0; i < bytes; i++) sha256_add(&two, "x", 1);
    sha256_end(&two, second);
    cr_assert_str_eq(first, second);
  }
  expect(ten, 1, 10, "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882");
}

PD_TEST(sha256, of_a_file) {
  char text[SHA256_TEXT_BYTES], path[] = "/tmp/pdhost sha256 XXXXXX";
  const int made = mkstemp(path);
  FILE *file = fdopen(made, "w");
  cr_assert_not_null(file);
  for (int i = 0; i < 1000000; i++) cr_assert_eq(fputc('a', file), 'a');
  cr_assert_eq(fclose(file), 0);
  cr_assert(sha256_file(path, text));
  cr_assert_str_eq(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  cr_assert_eq(unlink(path), 0);
  cr_assert(!sha256_file(path, text));
}
