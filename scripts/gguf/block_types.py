# llama.cpp's own quantiser and dequantiser, by its library: python3 gguf-types.py FOLDER-OF-libggml-base.so
import base64,ctypes,json,struct,sys,random
lib=ctypes.CDLL(sys.argv[1]+'/libggml-base.so')
random.seed(7)
types={2:('q4_0','Q4_0',32,18),3:('q4_1','Q4_1',32,20),6:('q5_0','Q5_0',32,22),7:('q5_1','Q5_1',32,24),8:('q8_0','Q8_0',32,34),10:('q2_K','Q2_K',256,84),11:('q3_K','Q3_K',256,110),12:('q4_K','Q4_K',256,144),13:('q5_K','Q5_K',256,176),14:('q6_K','Q6_K',256,210),20:('iq4_nl','IQ4_NL',32,18),23:('iq4_xs','IQ4_XS',256,136),39:('mxfp4','MXFP4',32,17)}
N=512
values=[random.gauss(0,1)*(3 if i%97==0 else 1)*(0.02 if i>=256 else 1) for i in range(N)]
F=(ctypes.c_float*N)(*values)
out={}
lib.ggml_quantize_chunk.restype=ctypes.c_size_t
lib.ggml_quantize_chunk.argtypes=[ctypes.c_int,ctypes.c_void_p,ctypes.c_void_p,ctypes.c_int64,ctypes.c_int64,ctypes.c_int64,ctypes.c_void_p]
for t,(fn,label,block,size) in types.items():
    n=N//block*size
    dst=(ctypes.c_uint8*n)()
    got=lib.ggml_quantize_chunk(t,F,dst,0,1,N,None)
    assert got==n,(label,got,n)
    back=(ctypes.c_float*N)()
    f=getattr(lib,'dequantize_row_'+fn); f.restype=None; f.argtypes=[ctypes.c_void_p,ctypes.c_void_p,ctypes.c_int64]
    f(dst,back,N)
    out[label]={'bytes':base64.b64encode(bytes(dst)).decode(),'values':base64.b64encode(struct.pack('<%df'%N,*back)).decode()}
print(json.dumps(out))
