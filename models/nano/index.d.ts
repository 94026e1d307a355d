/** What `webgpu({ models: [nano] })` takes: this package's folder is a model repository. */
export declare const nano: { readonly id: 'local-v1/nano'; readonly from: string }
