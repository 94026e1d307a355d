# llama.cpp's own quantiser: python3 quantise.py FOLDER-OF-libllama.so F32.gguf OUT-FOLDER NAME=NUMBER...
# writes NAME.gguf, of that file type, and NAME.f32.gguf, with the values that its blocks stand for.
import ctypes,glob,os,sys
folder,path,out=sys.argv[1:4]
for name in ('libggml-base','libggml','libllama'):
    library=ctypes.CDLL(sorted(glob.glob(os.path.join(folder,name+'.*so*'))+glob.glob(os.path.join(folder,name+'.so*')))[0],mode=ctypes.RTLD_GLOBAL)
# The beginning of its parameters, and room for the rest.
class Parameters(ctypes.Structure):
    _fields_=[('threads',ctypes.c_int32),('file_type',ctypes.c_int),('output',ctypes.c_int),('embedding',ctypes.c_int),('allow_requantize',ctypes.c_bool),('rest',ctypes.c_uint8*239)]
library.llama_model_quantize_default_params.restype=Parameters
library.llama_model_quantize.argtypes=[ctypes.c_char_p,ctypes.c_char_p,ctypes.POINTER(Parameters)]
def quantise(source,target,file_type):
    parameters=library.llama_model_quantize_default_params()
    parameters.threads,parameters.file_type,parameters.allow_requantize=1,file_type,True
    failed=library.llama_model_quantize(source.encode(),target.encode(),ctypes.byref(parameters))
    if failed: sys.exit('llama.cpp could not make '+target)
for given in sys.argv[4:]:
    name,number=given.split('=')
    made=os.path.join(out,name+'.gguf')
    quantise(path,made,int(number))
    quantise(made,os.path.join(out,name+'.f32.gguf'),0)
