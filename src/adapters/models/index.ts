/** Models that come with Countersign. Invariant: importing them needs nothing but Node. */
export { aiSdkModel, type AiSdkModelOptions, type AiSdkLanguageModel } from './ai-sdk-model';
export { scriptedModel, type ScriptedAnswer, type ScriptedModelOptions } from './scripted-model';
export type { Model, ModelAnswer, ModelMessage, ModelRequest, ModelTool } from '../../ports';
