"""Runs a file of whole-run tests, which finds what the tests share beside this file: run_test.py FILE [CLASS...]"""
import runpy
import sys

del sys.argv[0]  # Python has put the folder of this file into its search path
runpy.run_path(sys.argv[0], run_name="__main__")
