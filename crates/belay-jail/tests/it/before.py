import ctypes, errno, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def answer(result):
    print(errno.errorcode.get(ctypes.get_errno(), '?') if result == -1 else 'none')
def call(number, *arguments):
    ctypes.set_errno(0)
    answer(libc.syscall(number, *arguments))
def attempt(function):
    try:
        function()
        print('none')
    except OSError as error:
        print(errno.errorcode.get(error.errno, '?'))
ROOT = os.environ['ROOT']
